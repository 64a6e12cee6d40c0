(function () {
  "use strict";
  function each(selector, f, from) { Array.prototype.forEach.call((from || document).querySelectorAll(selector), f); }
  var content = document.getElementById("content");

  // What needs a script is shown by it.
  function dress() {
    each("button[data-copy]", function (b) {
      b.hidden = !navigator.clipboard;
      b.addEventListener("click", function () {
        navigator.clipboard.writeText(document.getElementById(b.dataset.copy).textContent).then(function () { b.textContent = "copied"; });
      });
    });
  }
  dress();
  each(".keys", function (k) { k.hidden = false; });

  // Keys: digits open pages, j and k go through the rows, / searches.
  var row = -1;
  document.addEventListener("keydown", function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) return;
    var menu = document.querySelectorAll("nav.top a:not(.brand)"), rows = content.querySelectorAll(".rows tbody tr");
    if (/^[1-9]$/.test(e.key) && menu[e.key - 1]) { menu[e.key - 1].click(); return; }
    if (e.key === "/") {
      var find = content.querySelector("input[type=search]");
      if (find) { e.preventDefault(); find.focus(); }
      return;
    }
    if ((e.key === "j" || e.key === "k") && rows.length) {
      row = Math.min(Math.max(row + (e.key === "j" ? 1 : -1), 0), rows.length - 1);
      each("tr.lit", function (r) { r.classList.remove("lit"); });
      rows[row].classList.add("lit");
      rows[row].scrollIntoView({ block: "nearest" });
      var link = rows[row].querySelector("a, summary");
      if (link) link.focus({ preventScroll: true });
    }
  });

  // A page with a server behind it is loaded anew when the database has changed, unless somebody is writing in it.
  var version = document.body.dataset.version;
  if (!version || !window.EventSource) return;
  var live = document.getElementById("live"), busy = false, missed = false;
  function writing() {
    var at = document.activeElement;
    return at && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName) || Array.prototype.some.call(document.querySelectorAll("textarea"), function (t) { return t.value; });
  }
  // What has not changed and is dear to load stays: the frame with a run.
  function replace(fresh) {
    var kept = content.querySelector(":scope > [data-keep]"), same = fresh.querySelector(":scope > [data-keep]");
    if (!kept || !same || kept.dataset.keep !== same.dataset.keep) {
      content.replaceChildren.apply(content, Array.prototype.slice.call(fresh.childNodes));
      return;
    }
    Array.prototype.slice.call(content.childNodes).forEach(function (n) { if (n !== kept) n.remove(); });
    var behind = false;
    Array.prototype.slice.call(fresh.childNodes).forEach(function (n) {
      if (n === same) { behind = true; return; }
      content.insertBefore(n, behind ? null : kept);
    });
  }
  function reload() {
    if (busy || document.hidden || writing()) { missed = true; return; }
    busy = true;
    missed = false;
    fetch(location.href, { headers: { Accept: "text/html" } }).then(function (r) { return r.ok ? r.text() : ""; }).then(function (text) {
      busy = false;
      if (!text || writing()) return;
      var page = new DOMParser().parseFromString(text, "text/html"), fresh = page.getElementById("content"), open = [], wide = [], focus = document.activeElement;
      if (!fresh) return;
      each("details", function (d) { open.push(d.open); }, content);
      each(".scroll", function (s) { wide.push(s.scrollLeft); }, content);
      var links = Array.prototype.slice.call(content.querySelectorAll("a, summary")), at = links.indexOf(focus);
      replace(fresh);
      each("details", function (d) { d.open = !!open.shift(); }, content);
      each(".scroll", function (s) { s.scrollLeft = wide.shift() || 0; }, content);
      if (at >= 0 && content.querySelectorAll("a, summary")[at]) content.querySelectorAll("a, summary")[at].focus({ preventScroll: true });
      document.querySelector("footer time").textContent = page.querySelector("footer time").textContent;
      version = page.body.dataset.version;
      dress();
    }).catch(function () { busy = false; });
  }
  var source = new EventSource("events");
  source.onopen = function () { live.hidden = false; };
  source.onerror = function () { live.hidden = true; };
  source.onmessage = function (e) { if (e.data !== version) reload(); };
  document.addEventListener("visibilitychange", function () { if (missed) reload(); });
  document.addEventListener("focusout", function () { setTimeout(function () { if (missed) reload(); }, 0); });
})();
