// Every page of the site: dark mode, buttons that copy samples, the list of versions, and the search in the text.
"use strict";

if (typeof DoxygenAwesomeDarkModeToggle !== "undefined") DoxygenAwesomeDarkModeToggle.init();
if (typeof DoxygenAwesomeFragmentCopyButton !== "undefined") DoxygenAwesomeFragmentCopyButton.init();

// versions.js sets `allot_versions`, and pages.js of a version sets `allot_pages`, the names of its pages. Scripts load
// from a folder too, where a page may not fetch files.
(function () {
    function open(version) {
        const page = location.pathname.split("/").pop() || "index.html";
        const script = document.createElement("script");
        const go = (name) => location.assign(version.path + "/" + name);
        script.onload = () => go(allot_pages.includes(page) ? page : "index.html");
        script.onerror = () => go("index.html");
        script.src = version.path + "/pages.js";
        document.head.append(script);
    }

    // While a word is typed, Doxygen shows the names that begin with it. Enter searches the text of all pages.
    document.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" || event.target.id !== "MSearchField" || !event.target.value.trim()) return;
        event.preventDefault();
        event.stopPropagation();
        location.assign("search_text.html?q=" + encodeURIComponent(event.target.value.trim()));
    }, true);

    document.addEventListener("DOMContentLoaded", () => {
        const number = document.getElementById("projectnumber");
        if (!number || typeof allot_versions === "undefined") return;
        const list = document.createElement("select");
        list.id = "versions";
        list.title = "Version of allot";
        list.setAttribute("aria-label", list.title);
        for (const version of allot_versions.all) {
            list.add(new Option(version.name, version.name, false, version.name === allot_versions.shown));
        }
        list.onchange = () => open(allot_versions.all[list.selectedIndex]);
        number.replaceChildren(list);
    });
})();
