(function () {
  "use strict";
  var root = document.documentElement;
  function each(selector, f) { Array.prototype.forEach.call(document.querySelectorAll(selector), f); }
  var theme = document.getElementById("theme");
  if (theme) theme.addEventListener("click", function () {
    var dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });
  each("button[data-copy]", function (b) {
    b.addEventListener("click", function () {
      var text = document.getElementById(b.dataset.copy).textContent;
      if (navigator.clipboard) navigator.clipboard.writeText(text).then(function () { b.textContent = "copied"; });
    });
  });
  var find = document.getElementById("find");
  function filter() {
    var off = {};
    each("#nodes input", function (i) { if (!i.checked) off[i.value] = true; });
    var text = find.value.toLowerCase();
    each("#log > div", function (row) {
      row.hidden = off[row.dataset.node] === true || text !== "" && row.textContent.toLowerCase().indexOf(text) < 0;
    });
  }
  if (find) {
    find.addEventListener("input", filter);
    each("#nodes input", function (i) { i.addEventListener("change", filter); });
  }
  var only = document.getElementById("only-key");
  if (only) only.addEventListener("change", function () {
    each("#operations tr.other", function (row) { row.hidden = only.checked; });
  });
})();
