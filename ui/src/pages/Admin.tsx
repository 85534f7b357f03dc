/** Administration: namespaces, credentials, retention, kinds, usage, health and the audit log. */
import "./admin/admin.css";
import type { ComponentType } from "preact";
import { place } from "../core/route";
import { mayAdminister } from "../core/session";
import { Page } from "../parts/Page";
import { t } from "../strings";
import { Audit } from "./admin/Audit";
import { Credentials } from "./admin/Credentials";
import { Health } from "./admin/Health";
import { Kinds } from "./admin/Kinds";
import { Retention } from "./admin/Retention";
import { Namespaces } from "./admin/Namespaces";
import { Usage } from "./admin/Usage";

interface Section {
  id: string;
  title: string;
  about: string;
  view: ComponentType;
  /** Only for those who may administer everything. */
  everywhere?: boolean;
}

const SECTIONS: Section[] = [
  { id: "places", ...t.admin.sections.places, view: Namespaces },
  { id: "credentials", ...t.admin.sections.credentials, view: Credentials, everywhere: true },
  { id: "retention", ...t.admin.sections.retention, view: Retention },
  { id: "kinds", ...t.admin.sections.kinds, view: Kinds },
  { id: "usage", ...t.admin.sections.usage, view: Usage },
  { id: "health", ...t.admin.sections.health, view: Health, everywhere: true },
  { id: "audit", ...t.admin.sections.audit, view: Audit, everywhere: true },
];

export default function Admin() {
  const sections = SECTIONS.filter((each) => !each.everywhere || mayAdminister());
  const shown = sections.find((each) => each.id === place.value.rest[0]) ?? sections[0]!;
  return (
    <Page title={t.admin.title} about={shown.about}>
      <nav class="tabs admin-tabs" aria-label={t.admin.title}>
        {sections.map((each) => (
          <a key={each.id} href={`#/admin/${each.id}`} aria-current={each === shown ? "page" : undefined}>
            {each.title}
          </a>
        ))}
      </nav>
      <shown.view key={shown.id} />
    </Page>
  );
}
