// The page that searches the text of all pages. text_index.js sets `allot_texts`, a list of [page, heading, address, text],
// one for each section. The parameter q of the address is the query.
//
// A section is found if it contains all words. Sections are listed by where the words are: in the heading, in the title of
// the page, or in the text, and then by how often.
"use strict";

(function () {
    const most = 50; // results
    const around = 90; // characters on each side of the first word
    const part = (name) => document.getElementById("text-" + name);

    function score(words, [page, heading, , text]) {
        const [in_heading, in_page, in_text] = [heading, page, text].map((each) => each.toLowerCase());
        let sum = 0;
        for (const word of words) {
            const count = in_text.split(word).length - 1;
            const found = 100 * in_heading.includes(word) + 30 * in_page.includes(word) + Math.min(count, 20);
            if (!found) return 0;
            sum += found;
        }
        return sum;
    }

    /// The text around the first word that occurs, with all words marked.
    function excerpt(words, text) {
        const lower = text.toLowerCase();
        const first = Math.max(0, ...words.map((word) => lower.indexOf(word)).filter((at) => at >= 0).slice(0, 1));
        const begin = Math.max(0, first - around), end = Math.min(text.length, first + 2 * around);
        const shown = (begin ? "… " : "") + text.slice(begin, end) + (end < text.length ? " …" : "");
        const pattern = new RegExp(`(${words.map((word) => word.replace(/[^\p{L}\p{N}]/gu, "\\$&")).join("|")})`, "giu");
        const place = document.createElement("p");
        shown.split(pattern).forEach((piece, at) => {
            const mark = document.createElement("mark");
            mark.textContent = piece;
            place.append(at % 2 ? mark : piece);
        });
        return place;
    }

    (function show() {
        const query = new URLSearchParams(location.search).get("q") ?? "";
        part("query").value = query;
        const words = query.toLowerCase().split(/\s+/).filter(Boolean);
        const found = words.length ? allot_texts.map((each) => [score(words, each), each]).filter(([points]) => points) : [];
        found.sort(([one], [other]) => other - one);
        const more = found.length > most ? `; the first ${most} are shown` : "";
        part("count").textContent = words.length
            ? `${found.length} ${found.length === 1 ? "section contains" : "sections contain"} all words${more}.` : "";
        part("results").replaceChildren(...found.slice(0, most).flatMap(([, [page, heading, address, text]]) => {
            const title = document.createElement("h3"), link = document.createElement("a");
            link.href = address;
            link.textContent = heading && heading !== page ? `${page}: ${heading}` : page;
            title.append(link);
            return [title, excerpt(words, text)];
        }));
    })();
})();
