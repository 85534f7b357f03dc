"""One module per memory under test, all with the same four functions:

    open(folder, embedder) -> handle          an empty memory in an empty folder
    store(handle, messages)                   keep messages of one session, in order
    search(handle, question, limit) -> hits   best first; a hit is the ids of the messages that it quotes
    close(handle)

A memory that works in the background and can say when it is done has a fifth, `settle(handle)`, which waits for that.
`SETTINGS` says what was chosen, `PACKAGES` which versions belong on the page. Modules import what they measure inside
`open`, so that any environment can read them.
"""
