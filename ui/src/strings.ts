/** Every English word of the UI. A page has its own part; what several use stands at the top. */
const many = (n: number, one: string, more: string) => `${n.toLocaleString("en-US")} ${n === 1 ? one : more}`;

export const t = {
  name: "Holdfast",
  close: "Close",
  cancel: "Cancel",
  save: "Save",
  copy: "Copy",
  copied: "Copied",
  copyFailed: "The browser did not let us copy. Select the text and copy it by hand.",
  loading: "Loading",
  again: "Try again",
  signOut: "Sign out",
  skip: "Skip to the page",
  many,

  when: { now: "just now" },

  trouble: {
    unreachable: "The server does not answer.",
    unreachableFix: "Check that `holdfast serve` is running and that this machine can reach it, then try again.",
    status: (status: number) => `The server answered ${status}.`,
    statusFix: "Try again; if it stays, the server's log says more.",
  },

  signIn: {
    title: "Sign in to Holdfast",
    about: "See what your agents remember, and why they said what they said.",
    token: "Token",
    hint: "The admin token that the first start printed, a key, or a secret URL.",
    remember: "Stay signed in on this device for 30 days",
    enter: "Sign in",
    lost: "No token at hand?",
    lostHow: "Preset a new admin token and start the server again. The earlier preset one ends.",
    lostCode: "HOLDFAST_ADMIN_TOKEN=$(openssl rand -hex 24) holdfast serve",
    linkTitle: "Open this memory",
    linkAbout: "You followed a secret URL. It opens one profile's memory in this browser; the address no longer shows the secret.",
    instead: (name: string) => `You are signed in as “${name}”. Opening it signs you out of that.`,
    open: "Open",
    notNow: "Not now",
  },

  shell: {
    pages: "Pages",
    noProfile: "No profile",
    choose: "Choose one",
    switchProfile: (namespace: string | null, name: string | null) =>
      name === null ? "Choose a profile" : `Profile ${name} in ${namespace}. Switch`,
    find: "Search or go to",
    theme: "Light or dark",
    more: "More",
    admin: "may do everything",
    rights: (rights: string[]) => `may ${rights.join(", ")}`,
  },

  palette: {
    title: "Search, go and do",
    ask: "Search memories, or type a command…",
    chooseProfile: "Which profile?",
    go: "Go to",
    do: "Do",
    found: "Memories",
    profiles: "Profiles",
    switchProfile: "Switch profile…",
    theme: "Light or dark",
    help: "Keyboard shortcuts",
    nothing: "Nothing found.",
  },

  keys: {
    title: "Keyboard shortcuts",
    everywhere: "Everywhere",
    lists: "In lists",
    palette: "Search, go and do",
    help: "This help",
    profiles: "Switch profile",
    goTo: (page: string) => `Go to ${page}`,
    nextRow: "Next",
    previousRow: "Previous",
    search: "Search",
  },

  choose: {
    title: "Whose memory?",
    about: "Each profile is a memory of its own: a user, a team, a repository, an agent.",
    empty: "No memories yet",
    emptyAbout: "A namespace is created on purpose, a profile appears at its first write. This makes both:",
    noProfiles: "No profile yet: the first write makes one.",
    filter: "Find a profile",
    snippet: (root: string) =>
      `curl -s ${root}v1/namespaces -H "authorization: Bearer $TOKEN" \\
  -H 'content-type: application/json' -d '{"name": "app"}'
curl -s ${root}v1/namespaces/app/profiles/ana/remember -H "authorization: Bearer $TOKEN" \\
  -H 'content-type: application/json' -d '{"content": "Prefers window seats", "key": "seat"}'`,
  },

  home: {
    title: "Home",
    about: (memories: number, sessions: number) =>
      `${many(memories, "memory", "memories")} from ${many(sessions, "session", "sessions")}`,
    live: "Live",
    notLive: "Connecting…",
    summary: "What is known",
    emptySummary: "Nothing is known yet.",
    figures: {
      memories: "memories",
      messages: "messages",
      superseded: "superseded",
      sessions: "sessions",
      size: "on disk",
    },
    pending: (n: number) => `${many(n, "message waits", "messages wait")} to be digested`,
    pendingAbout: "Words already find them; facts and events follow.",
    failing: (n: number) => `${many(n, "message", "messages")} could not be digested yet; they are tried again by themselves.`,
    aside: (n: number) => `${many(n, "message was", "messages were")} set aside after repeated failures. Saying them again, or \`holdfast redigest\`, gives them another chance.`,
    kinds: "By kind",
    sessions: "Last sessions",
    noSessions: "No conversation yet.",
    sessionOf: (n: number) => many(n, "message", "messages"),
    activity: "Happening now",
    quiet: "Nothing since you opened this page. Whatever is written to this profile appears here at once.",
    empty: "This memory is empty",
    emptyAbout: "Tell it something, from a terminal or from an agent. It appears here as it arrives.",
    events: {
      "message.added": "Message kept",
      "message.forgotten": "Message forgotten",
      "memory.added": "Memory added",
      "memory.superseded": "Memory superseded",
      "memory.forgotten": "Memory forgotten",
      "digestion.progress": "Digested",
      reset: "Much has changed",
    } as Record<string, string>,
    snippet: (root: string, namespace: string, profile: string) =>
      `curl -s ${root}v1/namespaces/${encodeURIComponent(namespace)}/profiles/${encodeURIComponent(profile)}/ingest \\
  -H "authorization: Bearer $TOKEN" -H 'content-type: application/json' \\
  -d '{"messages": [{"role": "user", "content": "I live in Porto and prefer window seats."}]}'`,
  },

  admin: { title: "Admin" },
};
