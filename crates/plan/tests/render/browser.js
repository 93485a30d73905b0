// What a test asks of a page; every answer is a list of faults, or a value.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const name = (node) => `${node.localName}${node.id ? `#${node.id}` : ""}.${node.getAttribute("class") ?? ""}`;
  const isSeen = (node) => {
    const box = node.getBoundingClientRect();
    return box.width > 1 && box.height > 1 && node.checkVisibility({ contentVisibilityAuto: false });
  };

  // Elements beside each other that cover each other, by more than a pixel.
  const overlaps = () => {
    const faults = [];
    const outers = [document.body, ...all(".head, .bar, .tools, .tiles, .columns, main, .part, .lane, .inside, .facts, .legend")];
    const rows = all(".entry > summary, .rows > li, .facts > div, dl");
    for (const outer of [...outers, ...rows].slice(0, 400)) {
      const inner = [...outer.children].filter(isSeen);
      for (let at = 1; at < inner.length; at += 1) {
        const [one, other] = [inner[at - 1].getBoundingClientRect(), inner[at].getBoundingClientRect()];
        const width = Math.min(one.right, other.right) - Math.max(one.left, other.left);
        const height = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
        const isInline = getComputedStyle(inner[at]).display === "inline";
        if (width > 1 && height > 1 && !isInline) faults.push(`${name(inner[at - 1])} and ${name(inner[at])} in ${name(outer)}`);
      }
    }
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) faults.push(`the page is ${root.scrollWidth} wide in ${root.clientWidth}`);
    return faults;
  };

  const parts = (color) => {
    const numbers = color.match(/[\d.]+/g).map(Number);
    return { rgb: numbers.slice(0, 3), alpha: numbers[3] ?? 1 };
  };
  const light = (rgb) => {
    const [red, green, blue] = rgb.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = (node) => {
    for (let outer = node; outer; outer = outer.parentElement) {
      const color = parts(getComputedStyle(outer).backgroundColor);
      if (color.alpha === 1) return color.rgb;
      const rectangle = outer.localName === "g" && outer.querySelector("rect");
      if (rectangle) return parts(getComputedStyle(rectangle).fill).rgb;
    }
    return [255, 255, 255];
  };

  // Texts with a contrast below 4.5 to 1, as WCAG 2.2 computes it.
  const faint = () => {
    const faults = new Set();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let seen = 0; texts.nextNode() && seen < 4000; seen += 1) {
      const node = texts.currentNode.parentElement;
      if (texts.currentNode.data.trim() === "" || !isSeen(node) || node.closest("script, style, .spoken, .skip")) continue;
      const style = getComputedStyle(node);
      const ink = parts(node.closest("svg") ? style.fill : style.color).rgb;
      const [one, other] = [light(ink), light(ground(node))].sort((left, right) => right - left);
      const contrast = (one + 0.05) / (other + 0.05);
      if (contrast < 4.5) faults.add(`${name(node)} in ${name(node.parentElement)}: ${contrast.toFixed(2)}`);
    }
    return [...faults];
  };

  // The main parts from top to bottom, with their left edges and widths to ten pixels.
  const layout = () =>
    all(".head, .tiles, .tools, .contents, .part, .foot")
      .filter(isSeen)
      .map((node) => ({ node, box: node.getBoundingClientRect() }))
      .sort((one, other) => one.box.top - other.box.top || one.box.left - other.box.left)
      .map(({ node, box }) => {
        const round = (length) => Math.round(length / 10) * 10;
        return `${node.id || node.getAttribute("class")}: ${round(box.left)} + ${round(box.width)}`;
      });

  window.look = { overlaps, faint, layout };
})();
