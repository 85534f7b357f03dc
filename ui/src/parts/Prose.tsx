/** Text from outside. It is only ever text: Markdown's headings and lists become elements, nothing becomes HTML. */
import type { ComponentChildren, VNode } from "preact";

export function Prose({ markdown }: { markdown: string }) {
  const blocks: VNode[] = [];
  let items: string[] = [];
  const endList = () => {
    if (items.length > 0) {
      blocks.push(
        <ul key={blocks.length}>
          {items.map((item, n) => (
            <li key={n}>
              <Linked text={item} />
            </li>
          ))}
        </ul>,
      );
    }
    items = [];
  };
  for (const line of markdown.split("\n")) {
    const item = /^\s*[-*] (.*)/.exec(line);
    if (item) {
      items.push(item[1]!);
      continue;
    }
    endList();
    const heading = /^(#{1,4}) (.*)/.exec(line);
    if (heading) blocks.push(heading[1]!.length === 1 ? <h2 key={blocks.length}>{heading[2]}</h2> : <h3 key={blocks.length}>{heading[2]}</h3>);
    else if (line.trim()) {
      blocks.push(
        <p key={blocks.length}>
          <Linked text={line} />
        </p>,
      );
    }
  }
  endList();
  return <div class="prose">{blocks}</div>;
}

const ADDRESS = /(https?:\/\/[^\s<>"'`]+[^\s<>"'`.,;:!?)\]}])/g;

/** Text in which addresses can be followed; only http and https ever become links. */
export function Linked({ text }: { text: string }) {
  return (
    <>
      {text.split(ADDRESS).map((part, n) => (n % 2 === 1 ? <OutLink key={n} href={part} /> : part))}
    </>
  );
}

/** A link that data brought: of a known scheme, to a new tab that learns nothing of us. */
export function OutLink({ href, children }: { href: string; children?: ComponentChildren }) {
  if (!/^https?:\/\//i.test(href)) return <>{children ?? href}</>;
  return (
    <a href={href} target="_blank" rel="noopener noreferrer">
      {children ?? href}
    </a>
  );
}
