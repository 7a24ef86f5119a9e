// Addresses within the page: #/runs, #/runs/<id>, #/runs/<id>/gate/<label>, #/fleet …

export function to(...parts) {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

export function here() {
  const parts = location.hash.replace(/^#\/?/, "").split("/").filter(Boolean);
  try {
    return parts.map(decodeURIComponent);
  } catch {
    return []; // not an address of ours
  }
}
