// What pages do beyond being read: search, filters, order, keys, folds. Every page is whole without
// it. The comment in base.html.j2 says which attributes it acts on.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const count = (number) => number.toLocaleString("en-US");

  function set(node, attribute, value) {
    if (value === null) node.removeAttribute(attribute);
    else node.setAttribute(attribute, value);
  }

  // The table of flows.
  function flowTable(table, search) {
    const body = table.tBodies[0];
    const heads = all("th[data-sort]", table);
    const verdicts = all(".choice[data-verdict]");
    const tags = all(".choice[data-tag]");
    const warned = all(".choice[data-warned]");
    const choices = [...verdicts, ...warned, ...tags];
    const names = tags.map((tag) => tag.firstChild.data.trim());
    const rows = all("tr", body).map((node, at) => ({
      node, at, text: null,
      verdict: node.dataset.verdict,
      warned: "warned" in node.dataset,
      tags: node.dataset.tags ? node.dataset.tags.split(" ") : [],
    }));
    const texts = new Intl.Collator("en", { numeric: true });
    let sort = "", down = false, order = rows, shown = rows.length, waiting = 0;

    // Reading the text of very many rows takes a moment, so it waits for the first search.
    function text(row) {
      row.text ??= [row.node.textContent, ...row.tags.map((tag) => names[tag])].join(" ").toLowerCase();
      return row.text;
    }

    const pressed = (buttons) => buttons.filter((one) => one.getAttribute("aria-pressed") === "true");

    function show() {
      waiting = 0;
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      const wanted = new Set(pressed(verdicts).map((one) => one.dataset.verdict));
      const tagged = pressed(tags).map((one) => one.dataset.tag);
      const doubtful = pressed(warned).length > 0;
      shown = 0;
      for (const row of rows) {
        const hidden = (doubtful && !row.warned) || (wanted.size > 0 && !wanted.has(row.verdict)) ||
          (tagged.length > 0 && !tagged.some((tag) => row.tags.includes(tag))) ||
          !words.every((word) => text(row).includes(word));
        if (row.node.hidden !== hidden) row.node.hidden = hidden;
        if (!hidden) shown += 1;
      }
      const filtered = words.length || wanted.size || tagged.length || doubtful;
      const of = rows.length === 1 ? "1 flow" : `${count(rows.length)} flows`;
      $("shown").textContent = filtered ? `${count(shown)} of ${of} shown` : `${of}`;
      $("all").hidden = !filtered;
      keep();
    }

    // Several keys in one frame are one search.
    function soon() {
      waiting ||= requestAnimationFrame(show);
    }

    function value(row, key, at) {
      const cell = row.node.cells[at];
      if (key === "time" || key === "held") return Number(cell.dataset.value);
      return (key === "name" ? cell.firstElementChild : cell).textContent;
    }

    function arrange() {
      for (const head of heads) {
        set(head, "aria-sort", head.dataset.sort === sort ? (down ? "descending" : "ascending") : null);
      }
      const head = heads.find((one) => one.dataset.sort === sort);
      order = rows;
      if (head && sort !== "look") {
        const keys = new Map(rows.map((row) => [row, value(row, sort, head.cellIndex)]));
        order = [...rows].sort((a, b) => {
          const [x, y] = [keys.get(a), keys.get(b)];
          return typeof x === "number" ? x - y : texts.compare(x, y);
        });
      }
      if (down) order = [...order].reverse();
      const fragment = document.createDocumentFragment();
      for (const row of order) fragment.append(row.node);
      body.append(fragment);
    }

    // What is shown stands in the address, to be shared. From disk only its fragment may change.
    function keep() {
      const state = new URLSearchParams();
      if (search.value) state.set("q", search.value);
      for (const one of pressed(verdicts)) state.append("verdict", one.dataset.verdict);
      if (pressed(warned).length) state.set("warned", "1");
      for (const one of pressed(tags)) state.append("tag", names[one.dataset.tag]);
      if (sort) state.set("sort", (down ? "-" : "") + sort);
      const said = state.toString();
      if (!said && !location.hash.startsWith("#?")) return;
      history.replaceState(null, "", said ? `#?${said}` : location.href.split("#")[0]);
    }

    function restore() {
      if (!location.hash.startsWith("#?")) return;
      const state = new URLSearchParams(location.hash.slice(2));
      search.value = state.get("q") ?? "";
      for (const one of verdicts) set(one, "aria-pressed", state.getAll("verdict").includes(one.dataset.verdict));
      for (const one of warned) set(one, "aria-pressed", state.has("warned"));
      for (const one of tags) set(one, "aria-pressed", state.getAll("tag").includes(names[one.dataset.tag]));
      const by = state.get("sort") ?? "";
      const known = heads.some((head) => head.dataset.sort === by.replace(/^-/, ""));
      const [sorted, downward] = known ? [by.replace(/^-/, ""), by.startsWith("-")] : ["", false];
      if (sorted !== sort || downward !== down) {
        [sort, down] = [sorted, downward];
        arrange();
      }
    }

    for (const head of heads) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const first = head.dataset.sort === "time";
        if (sort !== head.dataset.sort) [sort, down] = [head.dataset.sort, first];
        else if (down === first) down = !first;
        else [sort, down] = ["", false];
        arrange();
        keep();
      });
    }
    for (const one of choices) {
      one.addEventListener("click", () => {
        set(one, "aria-pressed", one.getAttribute("aria-pressed") !== "true");
        soon();
      });
    }
    $("all").addEventListener("click", () => {
      search.value = "";
      for (const one of choices) set(one, "aria-pressed", "false");
      show();
      search.focus();
    });
    search.form.addEventListener("submit", (event) => {
      event.preventDefault();
      last = null;
      move(1);
    });
    search.addEventListener("input", soon);
    addEventListener("hashchange", () => {
      if (!location.hash.startsWith("#?")) return;
      restore();
      show();
    });
    restore();
    show();
    return () => order.filter((row) => !row.node.hidden).map((row) => row.node);
  }

  // Where j and k go: the flows of the index, else the marked parts of a page.
  const search = $("search");
  const table = document.querySelector("table.flows");
  const stops = table && search ? flowTable(table, search) : () => all("[data-jump]").filter((one) => one.checkVisibility?.() ?? true);
  let last = null;

  function move(step) {
    const places = stops();
    if (!places.length) return;
    const active = document.activeElement;
    let at = places.findIndex((one) => one.contains(active));
    if (at < 0) at = places.indexOf(last);
    at = at < 0 ? (step > 0 ? 0 : places.length - 1) : Math.min(places.length - 1, Math.max(0, at + step));
    last = places[at];
    const to = table ? last.querySelector("a") : last;
    if (to.tabIndex < 0) to.tabIndex = -1;
    to.focus();
    last.scrollIntoView({ block: table ? "nearest" : "start" });
  }

  function follow(selector, root = document) {
    const link = root.querySelector(selector);
    if (link) link.click();
    return Boolean(link);
  }

  function open() {
    const active = document.activeElement;
    if (active.matches("main a")) active.click();
    else if (active.matches("[data-jump]")) follow("[data-open]", active);
  }

  const keys = {
    j: () => move(1),
    k: () => move(-1),
    o: open,
    n: () => follow("a[rel~=next]"),
    p: () => follow("a[rel~=prev]"),
    u: () => follow("a[rel~=up]") || follow(".home"),
    e: () => fold(all("details")),
    "/": () => search?.focus(),
    "?": () => $("keys").showModal(),
  };
  const single = $("single");
  try {
    single.checked = localStorage.getItem("flowproof-keys") !== "off";
  } catch {
    // A browser may allow a page from disk no storage: then the choice lasts as long as the page.
  }
  single.addEventListener("change", () => {
    try {
      localStorage.setItem("flowproof-keys", single.checked ? "on" : "off");
    } catch {
      // As above.
    }
  });
  addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
    if (event.target.matches("input, textarea, select")) {
      if (event.key === "Escape" && event.target === search && !search.value) search.blur();
      return;
    }
    const act = single.checked && Object.hasOwn(keys, event.key) ? keys[event.key] : null;
    if (!act) return;
    event.preventDefault();
    act();
  });
  for (const one of all("[data-help]")) one.addEventListener("click", keys["?"]);

  // Folds: all at once, where a link leads into one, and in print.
  const buttons = all("[data-fold]").map((node) => ({
    node, said: node.textContent, folds: () => all("details", $(node.dataset.fold) ?? document),
  }));

  function fold(folds) {
    const opens = folds.some((one) => !one.open);
    for (const one of folds) one.open = opens;
    for (const { node, said, folds: own } of buttons) {
      node.textContent = own().some((one) => !one.open) ? said : said.replace("Open", "Close");
    }
  }
  for (const { node, folds } of buttons) {
    if (!folds().length) node.dataset.script = "idle";
    node.addEventListener("click", () => fold(folds()));
  }
  function unfold() {
    let place = null;
    try {
      place = $(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return;
    }
    const closed = place?.closest("details:not([open])");
    for (let one = closed; one; one = one.parentElement.closest("details:not([open])")) one.open = true;
    if (closed) place.scrollIntoView();
  }
  addEventListener("hashchange", unfold);
  unfold();
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details:not([open])");
    for (const one of folded) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of folded) one.open = false;
  });

  // Links to copy: of a part of the page where the value starts with #, else the value itself.
  for (const button of all("[data-copy]")) {
    button.addEventListener("click", async () => {
      const value = button.dataset.copy;
      const said = button.textContent;
      try {
        await navigator.clipboard.writeText(value.startsWith("#") ? location.href.split("#")[0] + value : value);
        button.textContent = "Copied";
      } catch {
        if (value.startsWith("#")) location.hash = value;
        button.textContent = "Not allowed here";
      }
      setTimeout(() => { button.textContent = said; }, 1500);
    });
  }
  for (const one of all('[data-script]:not([data-script="idle"])')) one.hidden = false;
})();
