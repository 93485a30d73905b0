
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const lower = (node) => node.textContent.toLowerCase();

  const find = byId("find");
  const found = byId("found");
  const tiles = all(".tile");
  const parts = all(".part").filter((part) => part.querySelector(".entry"));
  const types = all(".type");

  // The texts are read when they are needed first: reading them takes longer than all else.
  let entries = null;
  const read = () => {
    entries ??= all(".entry").map((node) => {
      const rows = all(".members > li", node).map((row) => ({ node: row, text: lower(row) }));
      const own = [node.firstElementChild, ...all(":scope > .inside > :not(.members)", node)];
      return { node, rows, text: own.map(lower).join("\n") };
    });
    return entries;
  };

  const pressed = () => new Set(tiles.filter((tile) => tile.ariaPressed === "true").map((tile) => tile.dataset.filter));

  const isChosen = (node, groups) =>
    groups.size === 0 || groups.has(node.dataset.group) || (groups.has("danger") && "danger" in node.dataset);

  // How many resources of an entry match all words: each word is in the entry's own text or in that of a row.
  const match = (entry, words) => {
    const missing = words.filter((word) => !entry.text.includes(word));
    let count = 0;
    for (const row of entry.rows) {
      const matches = missing.every((word) => row.text.includes(word));
      if (row.node.hidden === matches) row.node.hidden = !matches;
      if (matches) count += 1;
    }
    return entry.rows.length > 0 ? count : Number(missing.length === 0);
  };

  // The parts that a filter unfolded, to fold them again after it.
  const unfolded = new Set();

  const update = () => {
    const words = find.value.toLowerCase().split(/\s+/).filter((word) => word !== "");
    const groups = pressed();
    const isFiltered = words.length > 0 || groups.size > 0;
    let [shown, total] = [0, 0];
    for (const entry of read()) {
      const count = isChosen(entry.node, groups) ? match(entry, words) : 0;
      entry.node.hidden = count === 0;
      shown += count;
      total += Math.max(entry.rows.length, 1);
    }
    for (const part of parts) part.hidden = !part.querySelector(".entry:not([hidden])");
    for (const type of types) {
      type.hidden = !type.querySelector(".entry:not([hidden])");
      if (isFiltered && !type.hidden && !type.open) {
        type.open = true;
        unfolded.add(type);
      }
    }
    if (!isFiltered) {
      for (const type of unfolded) type.open = false;
      unfolded.clear();
    }
    found.textContent = isFiltered ? `${shown} of ${total} ${total === 1 ? "change" : "changes"}` : "";
    byId("none").hidden = shown > 0 || !isFiltered;
  };

  let waiting = false;
  const soon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      update();
    });
  };

  const isVisible = (node) => node.checkVisibility();

  const visible = () => all("main summary").filter(isVisible);

  const firstMatch = () => {
    const entry = all(".entry:not([hidden])").find(isVisible);
    if (!entry) return;
    entry.open = true;
    entry.firstElementChild.focus();
    entry.scrollIntoView({ block: "nearest" });
  };

  // Unfolds all that an element is in.
  const reveal = (node) => {
    for (let outer = node?.closest("details"); outer; outer = outer.parentElement.closest("details")) outer.open = true;
  };

  const target = () => {
    const node = location.hash.length > 1 ? byId(location.hash.slice(1)) : null;
    if (!node) return;
    reveal(node);
    node.scrollIntoView({ block: "start" });
  };

  const folds = () => all("main details").filter((node) => !node.hidden);

  find.addEventListener("input", soon);
  for (const tile of tiles) {
    tile.disabled = false;
    tile.addEventListener("click", () => {
      tile.ariaPressed = String(tile.ariaPressed !== "true");
      soon();
    });
  }
  byId("unfold").addEventListener("click", () => folds().forEach((node) => (node.open = true)));
  byId("fold").addEventListener("click", () => folds().forEach((node) => (node.open = false)));

  find.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && find.value !== "") {
      find.value = "";
      update();
      event.preventDefault();
    } else if (event.key === "Enter") {
      update();
      firstMatch();
      event.preventDefault();
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input")) return;
    if (event.key === "/") {
      find.focus();
      find.select();
      event.preventDefault();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && event.target.matches("main summary")) {
      const list = visible();
      const next = list[list.indexOf(event.target) + (event.key === "ArrowDown" ? 1 : -1)];
      if (next) {
        next.focus();
        event.preventDefault();
      }
    }
  });

  addEventListener("hashchange", target);
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a");
    if (link) reveal(byId((link.getAttribute("href") ?? "").slice(1)));
  });

  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details:not([open])");
    for (const node of folded) node.open = true;
  });
  addEventListener("afterprint", () => {
    for (const node of folded) node.open = false;
    folded = [];
  });

  byId("tools").hidden = false;
  target();
})();
