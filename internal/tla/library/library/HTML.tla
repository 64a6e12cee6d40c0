---- MODULE HTML ----
\* Pages of HTML as strings.
LOCAL INSTANCE Naturals
LOCAL INSTANCE Sequences
LOCAL INSTANCE SequencesExt

LOCAL Joined(parts, by) == FoldLeft(LAMBDA text, part : IF text = "" THEN part ELSE text \o by \o part, "", parts)
LOCAL Lines(parts) == Joined(parts, "\n")
LOCAL Quoted(text) == "\"" \o text \o "\""
LOCAL Within(open, parts, close) == Lines(<<open, Lines(parts), close>>)

HTMLFill(text, pairs) == FoldLeft(LAMBDA filled, pair : ReplaceFirstSubSeq(pair[2], pair[1], filled), text, pairs)

HTMLDocument(header, body, scripts) == Lines(<<"<!DOCTYPE html>", "<html>", header, body, Lines(scripts), "</html>">>)
HTMLLink(name, type) == "<link href=" \o Quoted(name) \o " rel=" \o Quoted(type) \o "/>"
HTMLBody(body) == Lines(<<"<body>", body, "</body>">>)

HTMLAttribute(name, value) == name \o ": " \o value \o ";"
HTMLSize(width, height) == HTMLAttribute("width", width) \o " " \o HTMLAttribute("height", height)
HTMLFlexCenterAttributes == Lines(<<HTMLAttribute("display", "flex"), HTMLAttribute("align-items", "center"), HTMLAttribute("justify-content", "center")>>)
HTMLClass(name, attributes) == Within(name \o " {", attributes, "}")
HTMLDefaultStyle ==
  Lines(<<HTMLClass(".default_grid", <<HTMLAttribute("display", "grid")>>),
          HTMLClass(".default_box", <<HTMLAttribute("border", "1px solid black")>>),
          HTMLClass(".default_circle", <<HTMLAttribute("border-radius", "50%")>>)>>)
HTMLStyleSheet(classes) == Lines(<<"<style type=\"text/css\">", HTMLDefaultStyle, Lines(classes), "</style>">>)

HTMLHeader(title, links, classes) ==
  Lines(<<"<head>", "<meta charset=\"UTF-8\">", "<title>" \o title \o "</title>", Lines(links), HTMLStyleSheet(classes), "</head>">>)
HTMLNewLine == "<br>"
HTMLText(id, text) == Lines(<<"<span id=" \o Quoted(id) \o ">", text, "</span>">>)
HTMLFrame(id, children) == Within("<div id=" \o Quoted(id) \o ">", children, "</div>")
HTMLGridContainer(id, classes, children) ==
  Within("<div id=" \o Quoted(id) \o " class=" \o Quoted("default_grid " \o Joined(classes, " ")) \o ">", children, "</div>")
HTMLBox(id, classes, size, children) ==
  Within("<div id=" \o Quoted(id) \o " class=" \o Quoted("default_box " \o Joined(classes, " ")) \o " style=" \o Quoted(size) \o ">", children, "</div>")
HTMLCircle(id, classes, size, children) == HTMLBox(id, <<"default_circle">> \o classes, size, children)
HTMLSVG(id, viewBox, size, svg) ==
  Lines(<<"<svg id=" \o Quoted(id) \o " viewBox=" \o Quoted(viewBox) \o " style=" \o Quoted(size) \o ">", svg, "</svg>">>)

HTMLScript(children) == Within("<script>", children, "</script>")
HTMLScriptFile(name) == "<script src=" \o Quoted(name) \o "></script>"
HTMLJSLineElems(from, to) == "document.getElementById(" \o Quoted(from) \o "), document.getElementById(" \o Quoted(to) \o ")"
LOCAL JSLine(from, to, comma, color, size, end) ==
  "new LeaderLine(" \o HTMLJSLineElems(from, to) \o comma \o "{color: '" \o color \o "', size: " \o size \o end \o "})"
HTMLJSLine(from, to, color, size) == JSLine(from, to, ", ", color, size, "")
HTMLJSLineDash(from, to, color, size) == JSLine(from, to, ",  ", color, size, ", dash: true")
HTMLJSKeyListener(events) == Lines(<<"window.onkeyup = function(event) {", "let key = event.key.toUpperCase();", Lines(events), "}">>)
HTMLJSNavigationKey(key, file) == Lines(<<"if(key == '" \o key \o "'){", "window.location.replace(" \o Quoted(file) \o ");", "}">>)
====
