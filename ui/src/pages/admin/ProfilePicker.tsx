/** Chooses the namespace and profile of a section of the administration; the address has both. */
import type { ComponentChildren } from "preact";
import { Profile } from "../../core/profile";
import { go, place, withQuery } from "../../core/route";
import { Select } from "../../parts/Field";
import { useSpaces } from "../../parts/Palette";
import { Empty, Shown } from "../../parts/States";
import { t } from "../../strings";

const w = t.admin.where;

export function ProfilePicker({ children }: { children: (of: Profile) => ComponentChildren }) {
  const spaces = useSpaces();
  return (
    <Shown of={spaces}>
      {(found) => {
        const some = found.filter((space) => space.profiles.length > 0);
        const space = some.find((each) => each.name === place.value.query.get("in")) ?? some[0];
        if (space === undefined) return <Empty title={w.none} />;
        const name = space.profiles.find((each) => each === place.value.query.get("of")) ?? space.profiles[0]!;
        const of = new Profile(space.name, name);
        return (
          <>
            <div class="admin-where">
              <Select label={w.namespace} value={space.name} onInput={(value) => go(withQuery({ in: value, of: "" }))} options={some.map((each) => each.name)} />
              <Select label={w.profile} value={name} onInput={(value) => go(withQuery({ in: space.name, of: value }))} options={space.profiles} />
            </div>
            <div key={of.path}>{children(of)}</div>
          </>
        );
      }}
    </Shown>
  );
}
