/* The page is whole without this: it only copies, and tells the numbers behind a picture where the reader points. */
(function () {
  "use strict";

  function copy(text) {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    var box = document.createElement("textarea");
    box.value = text;
    document.body.appendChild(box);
    box.select();
    var done = document.execCommand("copy");
    box.remove();
    return done ? Promise.resolve() : Promise.reject();
  }

  document.querySelectorAll("button[data-copy], button[data-text]").forEach(function (button) {
    var usual = button.textContent;
    function say(words) {
      button.textContent = words;
      setTimeout(function () { button.textContent = usual; }, 2500);
    }
    button.hidden = false;
    button.onclick = function () {
      var text = button.dataset.text || document.getElementById(button.dataset.copy).textContent;
      copy(text).then(function () { say("Copied"); }, function () { say("Select the text instead"); });
    };
  });

  function split(text) { return text ? text.split(",") : []; }
  function written(text, unit) {
    var places = (text.split(".")[1] || "").length, digits = { minimumFractionDigits: places, maximumFractionDigits: places };
    return Number(text).toLocaleString("en", digits).replace("-", "\u2212") + (unit ? " " + unit : "");
  }

  document.querySelectorAll("svg[data-mean]").forEach(function (svg) {
    var d = svg.dataset, shared = svg.closest("[data-when]");
    if (!shared) return;
    var at = split(shared.dataset.at).map(Number), when = shared.dataset.when.split("|");
    var mean = split(d.mean), low = split(d.low), high = split(d.high), seen = split(d.seen);
    var b = split(d.box).map(Number), inside = [];
    at.forEach(function (x, i) { if (x >= b[4] && x <= b[5] && mean[i]) inside.push(i); });
    if (!inside.length) return;
    var tip = document.createElement("output"), mark = document.createElementNS(svg.namespaceURI, "path");
    var now = -1;
    tip.className = "tip";
    tip.setAttribute("aria-live", "polite");
    tip.hidden = true;
    mark.setAttribute("class", "mark");
    svg.appendChild(mark);
    svg.parentNode.classList.add("told");
    svg.parentNode.appendChild(tip);
    svg.setAttribute("tabindex", "0");
    svg.setAttribute("aria-description", "Arrow keys tell its numbers.");

    function across(i) { return b[0] + (at[i] - b[4]) / (b[5] - b[4]) * b[2]; }
    function down(value) { return b[1] + (b[7] - value) / (b[7] - b[6]) * b[3]; }
    function show(k) {
      now = Math.max(0, Math.min(inside.length - 1, k));
      var i = inside[now], x = across(i), y = Math.max(b[1], Math.min(b[1] + b[3], down(mean[i])));
      var said = when[i] + ": ";
      if (seen[i]) said += "observed " + written(seen[i], d.unit) + "; ";
      said += d.called + " " + written(mean[i], d.unit);
      said += " (90 %: " + written(low[i]) + " to " + written(high[i], d.unit) + ")";
      mark.setAttribute("d", "M" + x + "," + b[1] + "v" + b[3] + "M" + (x - 4) + "," + y + "a4,4 0 1 0 8,0a4,4 0 1 0 -8,0");
      tip.textContent = said;
      tip.hidden = false;
      var box = svg.getBoundingClientRect(), outer = svg.parentNode.getBoundingClientRect();
      var scale = box.width / svg.viewBox.baseVal.width;
      var left = box.left - outer.left + x * scale - tip.offsetWidth / 2;
      tip.style.left = Math.max(0, Math.min(outer.width - tip.offsetWidth, left)) + "px";
      tip.style.top = box.top - outer.top + b[1] * scale - tip.offsetHeight - 2 + "px";
    }
    function hide() { tip.hidden = true; mark.setAttribute("d", ""); }
    function point(event) {
      var box = svg.getBoundingClientRect();
      var x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
      var best = 0;
      inside.forEach(function (i, k) { if (Math.abs(across(i) - x) < Math.abs(across(inside[best]) - x)) best = k; });
      show(best);
    }
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointerleave", function (event) { if (event.pointerType !== "touch") hide(); });
    document.addEventListener("pointerdown", function (event) { if (!svg.contains(event.target)) hide(); });
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", function (event) {
      var step = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: inside.length - 1 }[event.key];
      if (event.key === "Escape") return hide();
      if (step === undefined) return;
      event.preventDefault();
      show(now < 0 ? inside.length - 1 : step);
    });
  });
})();
