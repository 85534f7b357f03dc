/** Choose a profile: the first page for credentials with access to several. */
import "./choose.css";
import { useState } from "preact/hooks";
import { root } from "../core/api";
import { to } from "../core/route";
import { Icon } from "../parts/Icon";
import { Page } from "../parts/Page";
import { useSpaces } from "../parts/Palette";
import { Snippet } from "../parts/Snippet";
import { Empty, Shown } from "../parts/States";
import { t } from "../strings";

const MANY = 12;

export default function Choose() {
  const spaces = useSpaces();
  const [asked, setAsked] = useState("");
  return (
    <Page title={t.choose.title} about={t.choose.about}>
      <Shown of={spaces} lines={6}>
        {(found) => {
          const all = found.flatMap((space) => space.profiles);
          if (all.length === 0) {
            return (
              <Empty title={t.choose.empty}>
                <p>{t.choose.emptyAbout}</p>
                <Snippet code={t.choose.snippet(root)} />
              </Empty>
            );
          }
          return (
            <div class="choose">
              {all.length > MANY && (
                <input class="input" type="search" placeholder={t.choose.filter} aria-label={t.choose.filter} value={asked} onInput={(event) => setAsked(event.currentTarget.value)} />
              )}
              {found.map((space) => (
                <Space key={space.name} name={space.name} profiles={space.profiles.filter((each) => `${space.name} ${each}`.toLowerCase().includes(asked.toLowerCase()))} hide={asked !== ""} />
              ))}
            </div>
          );
        }}
      </Shown>
    </Page>
  );
}

const SHOWN = 200;

function Space({ name, profiles, hide }: { name: string; profiles: string[]; hide: boolean }) {
  if (profiles.length === 0 && hide) return null;
  return (
    <section>
      <h2>{name}</h2>
      {profiles.length === 0 && <p class="quiet small">{t.choose.noProfiles}</p>}
      <ul class="choose-list">
        {profiles.slice(0, SHOWN).map((each) => (
          <li key={each}>
            <a href={to(name, each, "home")}>
              <span class="clip">{each}</span>
              <Icon name="next" size={16} />
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
