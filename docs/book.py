#!/usr/bin/env python3
"""Adapts links of these pages to the book. mdbook calls this preprocessor; book.toml names it.

The pages are written for the repository: they link to source files, and to pages outside of docs/, such as
../README.md. The book gets a path of its own for each of these pages. Links between pages follow, and links to
source files lead from the book, which is below target/, back to the checkout.
"""
import json
import os
import re
import sys

DOCS = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(DOCS)
# Fenced code, code spans, and the target of an inline link or image.
PIECE = re.compile(r"(^```.*?^```[^\n]*$|`+[^`\n]+`+)|(?<=\]\()([^)\s]+)(?=\))", re.MULTILINE | re.DOTALL)


def chapters(items):
    """Lists the chapters below these items, in order."""
    for item in items:
        if chapter := item.get("Chapter"):
            yield chapter
            yield from chapters(chapter["sub_items"])


def book_path(source):
    """Returns the path of a page in the book, from its path in the repository."""
    path = os.path.relpath(source, "docs") if source.startswith("docs/") else source
    folder, name = os.path.split(path)
    if folder:
        return os.path.join(folder, "index.md" if name == "README.md" else name)
    return {"README.md": "index.md"}.get(name, name)


def adapted(link, page, pages, destination):
    """Returns a link of the page at this path of the repository, as the book has it."""
    path, mark, heading = link.partition("#")
    if not path or "://" in path or path.startswith("mailto:"):
        return link
    target = os.path.normpath(os.path.join(os.path.dirname(page), path))
    if not os.path.exists(os.path.join(ROOT, target)):
        sys.exit(f"{page}: the link {link} leads nowhere")
    folder = os.path.dirname(book_path(page))
    if target in pages:
        return os.path.relpath(pages[target], folder or ".") + mark + heading
    if target.startswith("docs/") and not target.endswith(".md"):
        # mdbook copies all files except Markdown files to the same path.
        return os.path.relpath(os.path.relpath(target, "docs"), folder or ".") + mark + heading
    # mdbook would replace the file extension of a Markdown file by the extension of an HTML page.
    outside = os.path.relpath(os.path.join(ROOT, target), os.path.join(destination, folder))
    return outside.replace(".md", "%2Emd") + mark + heading


def main():
    if sys.argv[1:2] == ["supports"]:
        sys.exit(sys.argv[2] != "html")
    context, book = json.load(sys.stdin)
    destination = os.path.join(context["root"], context["config"]["build"]["build-dir"])
    all_chapters = [chapter for chapter in chapters(book["items"]) if chapter["path"]]
    sources = {id(c): os.path.normpath(os.path.join("docs", c["source_path"])) for c in all_chapters}
    pages = {source: book_path(source) for source in sources.values()}
    for chapter in all_chapters:
        source = sources[id(chapter)]

        def replace(match):
            return match[1] or adapted(match[2], source, pages, destination)

        chapter["path"] = pages[source]
        chapter["content"] = PIECE.sub(replace, chapter["content"])
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
