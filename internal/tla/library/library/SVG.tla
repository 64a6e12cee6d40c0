---- MODULE SVG ----
\* Pictures as records: elements with a name, attributes, elements within, and text. Those that need more than TLA+ are built in.
LOCAL INSTANCE Integers
LOCAL INSTANCE Sequences
LOCAL INSTANCE TLC
LOCAL INSTANCE IOUtils

SVGElem(kind, attributes, within, words) == [name |-> kind, attrs |-> attributes, children |-> within, innerText |-> words]
LOCAL Shape(kind, own, more, words) == SVGElem(kind, own @@ more, <<>>, words)

Line(x1, y1, x2, y2, attrs) == Shape("line", [x1 |-> ToString(x1), y1 |-> ToString(y1), x2 |-> ToString(x2), y2 |-> ToString(y2)], attrs, "")
Circle(cx, cy, r, attrs) == Shape("circle", [cx |-> ToString(cx), cy |-> ToString(cy), r |-> ToString(r)], attrs, "")
Rect(x, y, w, h, attrs) == Shape("rect", [x |-> ToString(x), y |-> ToString(y), width |-> ToString(w), height |-> ToString(h)], attrs, "")
Text(x, y, text, attrs) == Shape("text", [x |-> ToString(x), y |-> ToString(y)], attrs, text)
Image(x, y, width, height, href, attrs) ==
  Shape("image", "xlink:href" :> href @@ [x |-> ToString(x), y |-> ToString(y), width |-> ToString(width), height |-> ToString(height)], attrs, "")
Group(children, attrs) == SVGElem("g", attrs, children, "")
Svg(children, attrs) == SVGElem("svg", attrs, children, "")
SVGDoc(children, vbX, vbY, vbW, vbH, attrs) ==
  Svg(<<children>>,
      "xmlns:xlink" :> "http://www.w3.org/1999/xlink" @@ "xmlns" :> "http://www.w3.org/2000/svg" @@
      "viewBox" :> (ToString(vbX) \o " " \o ToString(vbY) \o " " \o ToString(vbW) \o " " \o ToString(vbH)) @@ attrs)
SVGSerialize(svg, frameNamePrefix, frameNumber) ==
  Serialize(SVGElemToString(svg), frameNamePrefix \o zeroPadN(frameNumber, 3) \o ".svg",
            [format |-> "TXT", openOptions |-> <<"WRITE", "CREATE", "TRUNCATE_EXISTING">>])
====
