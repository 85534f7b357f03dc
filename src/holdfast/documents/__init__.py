"""Documents: fetch a file, detect its format, extract its text and cut the text into chunks.

    library     adds, lists and forgets the documents of a profile
    fetch/      a URL → a file, from public addresses only
    sandbox/    a file → its sections, parsed by a child process without network, files or privileges
    sniff       bytes → the name of their format
    parse/      one parser per family of formats; only the child process runs them
    chunk       sections → chunks of a size that search can use

Only `library` knows stores. Importing this package loads no parser.
"""
