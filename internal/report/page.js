(function () {
  "use strict";
  var root = document.documentElement;
  function each(selector, f) { Array.prototype.forEach.call(document.querySelectorAll(selector), f); }
  root.classList.add("scripted");
  var theme = document.getElementById("theme");
  if (theme) theme.addEventListener("click", function () {
    var dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  each("button[data-copy]", function (b) {
    b.addEventListener("click", function () {
      var text = document.getElementById(b.dataset.copy).textContent, name = b.textContent;
      function said(done) {
        b.textContent = done ? "copied" : "not copied";
        setTimeout(function () { b.textContent = name; }, 1500);
      }
      function old() { // where a page has no clipboard, such as in a frame
        var box = document.createElement("textarea");
        box.value = text;
        document.body.appendChild(box);
        box.select();
        var done = document.execCommand("copy");
        box.remove();
        b.focus();
        said(done);
      }
      if (navigator.clipboard) navigator.clipboard.writeText(text).then(function () { said(true); }, old); else old();
    });
  });
  // A link into something that is folded opens it.
  function reveal(e) {
    for (; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
  }
  function open() {
    var e = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    reveal(e);
    if (e && e.tagName === "DETAILS") e.scrollIntoView();
  }
  window.addEventListener("hashchange", open);
  var find = document.getElementById("find");
  function filter() {
    var off = {};
    each("#nodes input", function (i) { if (!i.checked) off[i.value] = true; });
    var text = find.value.toLowerCase();
    each("#log > div", function (row) {
      if (row.dataset.group) { // folded, unless the filter matches it
        if (text === "" || row.textContent.toLowerCase().indexOf(text) < 0) { row.hidden = true; return; }
      }
      row.hidden = off[row.dataset.node] === true || text !== "" && row.textContent.toLowerCase().indexOf(text) < 0;
    });
  }
  if (find) {
    find.addEventListener("input", filter);
    each("#nodes input", function (i) { i.addEventListener("change", filter); });
  }
  // Rows that say the same again are folded until somebody asks for them.
  function unfold(group) {
    each('[data-fold="' + group + '"]', function (row) { row.hidden = true; });
    each('[data-group="' + group + '"]', function (row) { row.dataset.group = ""; row.hidden = false; });
  }
  each("[data-group]", function (row) { row.hidden = true; });
  each("[data-unfold]", function (b) { b.addEventListener("click", function () { unfold(b.dataset.unfold); }); });

  // A link to a row shows it, wherever it is.
  function light(row) {
    each(".lit", function (old) { old.classList.remove("lit"); });
    if (!row) return;
    reveal(row);
    if (row.dataset.group) unfold(row.dataset.group);
    row.hidden = false;
    row.classList.add("lit");
    if (row.dataset.t) point(+row.dataset.t);
    if ("far" in row.dataset) { // outside of the timeline
      zoomed.checked = false;
      farLogs();
    }
    (row.firstElementChild || row).scrollIntoView({ block: "center" });
  }
  function follow() {
    var id = decodeURIComponent(location.hash.slice(1)), row = id && document.getElementById(id);
    if (row && row.dataset && row.dataset.t) light(row);
  }
  window.addEventListener("hashchange", follow);
  each("[data-event]", function (a) {
    a.addEventListener("click", function (e) {
      var n = a.dataset.event, row = document.getElementById("op-" + n) || document.getElementById("log-" + n);
      if (row) { e.preventDefault(); light(row); }
    });
  });
  each("a[data-show]", function (a) {
    a.addEventListener("click", function (e) {
      var row = a.closest("[data-t]");
      point(+row.dataset.t);
      if (a.getAttribute("href") === "#timeline") { // a line of a log: to its place in the timeline
        e.preventDefault();
        document.getElementById("timeline").scrollIntoView();
      }
    });
  });

  // The timeline: a part of it is chosen by dragging, and everything in it that has a time is placed anew. There is a drawing for wide
  // screens and one for narrow ones; both show the same part.
  var timelines = [], pointed = null;
  var point = function () {};
  Array.prototype.forEach.call(document.querySelectorAll("svg.timeline"), function (svg) {
    var ns = "http://www.w3.org/2000/svg", left = +svg.dataset.left, right = +svg.dataset.right, now;
    var ticks = svg.querySelector(".ticks"), brush = svg.querySelector(".brush"), cursor = svg.querySelector(".cursor");
    function x(t) { return left + (t - now[0]) / (now[1] - now[0]) * (right - left); }
    function time(px) { return now[0] + (px - left) / (right - left) * (now[1] - now[0]); }
    function at(e) {
      var box = svg.getBoundingClientRect();
      return Math.min(Math.max((e.clientX - box.left) / box.width * svg.viewBox.baseVal.width, left), right);
    }
    function put(tag, attributes, text) {
      var e = document.createElementNS(ns, tag);
      Object.keys(attributes).forEach(function (k) { e.setAttribute(k, attributes[k]); });
      if (text) e.textContent = text;
      ticks.appendChild(e);
    }
    function seconds(t) { return String(+(t / 1e9).toFixed(9)) + " s"; }
    function draw(part) {
      now = part;
      Array.prototype.forEach.call(svg.querySelectorAll("[data-a]"), function (e) {
        var a = x(+e.dataset.a), b = x(+e.dataset.b);
        switch (e.tagName) {
        case "rect": e.setAttribute("x", Math.max(a, left - 20)); e.setAttribute("width", Math.max(Math.min(b, right + 20) - Math.max(a, left - 20), b < left || a > right ? 0 : 2.5)); break;
        case "circle": e.setAttribute("cx", a); break;
        case "line": e.setAttribute("x1", a); e.setAttribute("x2", b); break;
        case "g": e.setAttribute("transform", "translate(" + (a - e.dataset.x) + ",0)"); break;
        }
      });
      ticks.textContent = "";
      var step = 1, wide = now[1] - now[0];
      while (wide / step > +ticks.dataset.ticks) step *= /^2/.test(String(step)) ? 2.5 : 2;
      for (var t = Math.ceil(now[0] / step) * step; t <= now[1]; t += step) {
        put("line", { "class": "grid", x1: x(t), x2: x(t), y1: ticks.dataset.top, y2: ticks.dataset.bottom });
        put("text", { "class": "tick", x: x(t), y: 13, "text-anchor": "middle" }, seconds(t));
      }
      place(now);
    }
    function place(part) {
      now = part;
      var seen = pointed !== null && pointed >= now[0] && pointed <= now[1];
      cursor.setAttribute("visibility", seen ? "visible" : "hidden");
      if (seen) { cursor.setAttribute("x1", x(pointed)); cursor.setAttribute("x2", x(pointed)); }
    }
    var start = null;
    svg.addEventListener("pointerdown", function (e) { if (e.button === 0) start = at(e); });
    svg.addEventListener("pointermove", function (e) {
      if (start === null) return;
      var a = Math.min(start, at(e)), b = Math.max(start, at(e));
      brush.setAttribute("visibility", b - a > 4 ? "visible" : "hidden");
      brush.setAttribute("x", a);
      brush.setAttribute("width", b - a);
    });
    window.addEventListener("pointerup", function (e) {
      if (start === null) return;
      var a = Math.min(start, at(e)), b = Math.max(start, at(e));
      start = null;
      brush.setAttribute("visibility", "hidden");
      if (b - a > 4) show(time(a), time(b));
    });
    svg.addEventListener("dragstart", function (e) { e.preventDefault(); });
    svg.addEventListener("dblclick", function () { show(all[0], all[1]); });
    now = [+svg.dataset.from, +svg.dataset.to];
    timelines.push({ svg: svg, draw: draw, place: place });
  });
  var all = timelines.length ? [+timelines[0].svg.dataset.from, +timelines[0].svg.dataset.to] : null, shown = all;
  function show(from, to) {
    var wide = Math.min(Math.max(to - from, 1000), all[1] - all[0]);
    from = Math.min(Math.max(from, all[0]), all[1] - wide);
    shown = [from, from + wide];
    timelines.forEach(function (t) { t.draw(shown); });
    farLogs();
  }
  // Lines of logs outside of the timeline are hidden, unless the reader wants them.
  var zoomed = document.getElementById("zoomed");
  function farLogs() {
    var part = zoomed && zoomed.checked && all;
    each("#log > div[data-t]", function (row) {
      if (part && (+row.dataset.t < shown[0] || +row.dataset.t > shown[1])) row.dataset.far = ""; else delete row.dataset.far;
    });
  }
  if (zoomed) zoomed.addEventListener("change", farLogs);
  farLogs();
  if (all) (function () {
    point = function (t) {
      pointed = t;
      if (t < shown[0] || t > shown[1]) { var half = (shown[1] - shown[0]) / 2; show(t - half, t + half); } else timelines.forEach(function (l) { l.place(shown); });
    };
    var violation = timelines[0].svg.querySelector("line.violation");
    document.getElementById("zoom").hidden = false;
    each("[data-zoom]", function (b) {
      b.addEventListener("click", function () {
        var wide = shown[1] - shown[0], middle = pointed !== null && pointed >= shown[0] && pointed <= shown[1] ? pointed : shown[0] + wide / 2;
        switch (b.dataset.zoom) {
        case "in": show(middle - wide / 4, middle + wide / 4); break;
        case "out": show(middle - wide, middle + wide); break;
        case "left": show(shown[0] - wide / 2, shown[1] - wide / 2); break;
        case "right": show(shown[0] + wide / 2, shown[1] + wide / 2); break;
        case "violation": var v = +violation.dataset.a; show(v - wide / 8, v + wide / 8); break;
        default: show(all[0], all[1]);
        }
      });
    });
  })();
  // The close view begins at the violation.
  var view = document.getElementById("close-view"), mark = document.getElementById("violation");
  if (mark && !mark.getClientRects().length) { // the drawing for narrow screens is shown
    mark = document.getElementById("violation-narrow");
    document.getElementById("to-violation").href = "#violation-narrow";
  }
  if (view && mark) {
    var top = mark.getBoundingClientRect().top - view.getBoundingClientRect().top;
    view.scrollTop += top - view.clientHeight * 0.7;
  }
  follow();
  open();
  var only = document.getElementById("only-key");
  if (only) only.addEventListener("change", function () {
    each("#operations tr.other", function (row) { row.hidden = only.checked || !!row.dataset.group; });
  });
})();
