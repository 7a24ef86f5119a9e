// Builds elements and brings a part of the page up to date in place. All text goes in as text
// nodes: what models, tasks and people wrote is never read as markup.

const SVG = "http://www.w3.org/2000/svg";

export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(Infinity).filter(present).map(asNode));
  return element;
}

function present(child) {
  return child !== null && child !== undefined && child !== false && child !== "";
}

function asNode(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}

/**
 * Make `target` hold `children`, changing as little as possible: elements that stay keep focus,
 * scroll position and selection. An element with `data-key` is matched by it, others by order.
 */
export function update(target, ...children) {
  patchChildren(target, children.flat(Infinity).filter(present).map(asNode));
}

function patchChildren(parent, wanted) {
  const keyed = new Map();
  const unkeyed = [];
  for (const child of parent.childNodes) {
    const key = keyOf(child);
    if (key === null) unkeyed.push(child);
    else keyed.set(key, child);
  }
  let cursor = parent.firstChild;
  for (const next of wanted) {
    const old = take(next, keyed, unkeyed);
    if (old === null) {
      parent.insertBefore(next, cursor);
      continue;
    }
    patch(old, next);
    if (old === cursor) cursor = cursor.nextSibling;
    else parent.insertBefore(old, cursor);
  }
  for (const left of [...keyed.values(), ...unkeyed]) left.remove();
}

function take(next, keyed, unkeyed) {
  const key = keyOf(next);
  if (key !== null) {
    const old = keyed.get(key);
    if (old === undefined || old.nodeName !== next.nodeName) return null;
    keyed.delete(key);
    return old;
  }
  const index = unkeyed.findIndex((old) => old.nodeName === next.nodeName);
  return index < 0 ? null : unkeyed.splice(index, 1)[0];
}

function keyOf(node) {
  return node instanceof Element ? node.getAttribute("data-key") : null;
}

function patch(old, next) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    // A person opens and closes these.
    if (!next.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  patchChildren(old, [...next.childNodes]);
}
