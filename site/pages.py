"""Adapts the pages of docs/ to mkdocs: navigation, links out of docs/, and what GitHub's Markdown allows and Python's does not."""
import os
import re

REPOSITORY = "https://github.com/bloodhound-dst/bloodhound"
LINK = re.compile(r"(\]\()([^)\s]+)(\))")
INDEX_LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+\.md)\)")
CODE_SPAN = re.compile(r"`+[^`]*`+")
FENCE = re.compile(r"^( *)(```+)(.*)$")
ITEM = re.compile(r"^( *)([-*]|\d+\.) +")
HEADING = re.compile(r"^#+ ")


def on_config(config):
    config["mdx_configs"].setdefault("toc", {})["slugify"] = slug
    config["nav"] = navigation(config["docs_dir"])
    return config


def on_files(files, config):
    for file in list(files):
        if file.src_path.endswith(".go"):
            files.remove(file)
    return files


def on_page_markdown(text, page, config, files):
    folder = os.path.dirname(page.file.abs_src_path)
    return rewrite(text, lambda target: outside(target, folder, config["docs_dir"]))


def on_page_content(html, page, config, files):
    """Drops the backslash of a bar in the code of a table cell, which GitHub needs there."""
    return re.sub(r"<td>.*?</td>", lambda cell: cell[0].replace("\\|", "|"), html, flags=re.S)


def slug(text, separator):
    """Returns the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", separator)


def navigation(docs):
    """Reads the navigation from README.md: a section for each heading, with its links in order.

    A page without a link there goes to the section of its folder."""
    with open(os.path.join(docs, "README.md"), encoding="utf-8") as f:
        blocks = re.split(r"^## ", f.read(), flags=re.M)
    listed, sections = {"README.md"}, []
    for block in blocks[1:]:
        title, _, body = block.partition("\n")
        pages = []
        for name, path in INDEX_LINK.findall(body):
            if path not in listed and not path.startswith(".."):
                listed.add(path)
                pages.append({name.replace("`", ""): path})
        if pages:
            sections.append({title.strip(): pages})
    for path in unlisted(docs, listed):
        section(sections, path).append(path)
    home = sections[0]
    pages = next(iter(home.values()))
    pages.insert(0, {"Documentation": "README.md"})
    return sections


def unlisted(docs, listed):
    for folder, _, names in sorted(os.walk(docs)):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), docs)
            if name.endswith(".md") and path not in listed:
                yield path


def section(sections, path):
    """Returns the pages of the section that has most in common with a path: its folder, or the first section."""
    kind = path.split("/")[0] if "/" in path else ""
    for s in sections:
        for pages in s.values():
            if kind and any(list(p.values())[0].startswith(kind + "/") for p in pages if isinstance(p, dict)):
                return pages
    return next(iter(sections[0].values()))


def outside(target, folder, docs):
    """Returns the address on GitHub of a file that is not below docs/; other targets stay."""
    path, sharp, anchor = target.partition("#")
    if not path or "://" in path or path.startswith("mailto:"):
        return target
    root = os.path.dirname(os.path.abspath(docs))
    file = os.path.normpath(os.path.join(folder, path))
    if file.startswith(os.path.abspath(docs) + os.sep):
        return target
    kind = "tree" if os.path.isdir(file) else "blob"
    return f"{REPOSITORY}/{kind}/main/{os.path.relpath(file, root)}{sharp}{anchor}"


def rewrite(text, link):
    """Rewrites links outside code, titles of fenced code, and lists that follow a paragraph without an empty line."""
    text = re.sub(r"^<!--.*?-->\n", "\n", text, flags=re.M | re.S)
    lines, fence, before = [], None, ""
    for line in text.split("\n"):
        m = FENCE.match(line)
        if fence:
            if m and m[2].startswith(fence) and not m[3].strip():
                fence = None
        elif m:
            fence = m[2]
            line = m[1] + m[2] + fence_head(m[3])
        elif not line.startswith("    "):
            if ITEM.match(line) and before.strip() and not ITEM.match(before) and not before.startswith(" ") and not in_list(lines):
                lines.append("")
            line = outside_code(line, link)
        lines.append(line)
        before = line
    return "\n".join(lines)


def in_list(lines):
    """Reports whether the paragraph that ends here belongs to a list."""
    for line in reversed(lines):
        if not line.strip() or HEADING.match(line):
            return False
        if ITEM.match(line):
            return True
    return False


def fence_head(info):
    """Turns the file name after a fence's language into a title."""
    language, _, name = info.strip().partition(" ")
    return f' {language} title="{name.lstrip(">")}"' if name and "=" not in name else info


def outside_code(line, link):
    parts, end = [], 0
    for span in CODE_SPAN.finditer(line):
        parts += [line[end:span.start()], span.group()]
        end = span.end()
    parts.append(line[end:])
    return replace_links(parts, link)


def replace_links(parts, link):
    """Replaces link targets; a link's text may have code, so targets are looked for in the text between code spans."""
    return "".join(p if p.startswith("`") else LINK.sub(lambda m: m[1] + link(m[2]) + m[3], p) for p in parts)


# Long names break, so that pages fit a narrow screen.
STYLE = "<style>.md-typeset h1, .md-typeset h2, .md-typeset p { overflow-wrap: anywhere }</style>"


def on_post_page(output, page, config):
    return output.replace("</head>", STYLE + "</head>", 1)
