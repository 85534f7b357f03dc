/** Use the memory as an agent does: ask a question, build a context, ingest a conversation. */
import "./playground.css";
import { useShortcuts } from "../core/keys";
import { go, here, place } from "../core/route";
import { may } from "../core/session";
import { Page } from "../parts/Page";
import { t } from "../strings";
import { Ask } from "./playground/Ask";
import { ContextBlock } from "./playground/Context";
import { Ingest } from "./playground/Ingest";

const TABS = ["ask", "context", "tell"] as const;

export default function Playground() {
  const [at = "ask"] = place.value.rest;
  const tabs = TABS.filter((each) => each !== "tell" || may("write"));
  useShortcuts(tabs.map((each, n) => ({ keys: String(n + 1), does: t.playground.tabs[each], group: t.playground.title, act: () => go(here("playground", [each])) })));
  return (
    <Page title={t.playground.title} about={t.playground.about}>
      <nav class="tabs playground-tabs" aria-label={t.playground.title}>
        {tabs.map((each) => (
          <a key={each} href={here("playground", [each])} aria-current={each === at ? "page" : undefined}>
            {t.playground.tabs[each]}
          </a>
        ))}
      </nav>
      {at === "tell" ? <Ingest /> : at === "context" ? <ContextBlock /> : <Ask />}
    </Page>
  );
}
