/** A question, its answer as it comes, and every citation marked in its source. */
import { useState } from "preact/hooks";
import { send } from "../../core/api";
import { useLoad } from "../../core/load";
import type { Answer, Hit, Message } from "../../core/types";
import { isMemory } from "../../core/profile";
import { here } from "../../core/route";
import { profile } from "../../core/session";
import { sent } from "../../core/stream";
import { Button, LinkButton } from "../../parts/Button";
import { Select, TextField } from "../../parts/Field";
import { cut, Marked, MarkedWords } from "../../parts/Marked";
import { Progress, Trouble } from "../../parts/States";
import { Ago, Tag } from "../../parts/Tag";
import { t } from "../../strings";
import { useQuestion } from "./question";

export function Ask() {
  const of = profile.value!;
  const [level, setLevel] = useState("low");
  const [words, setWords] = useState("");
  const [answer, setAnswer] = useState<Answer | null>(null);
  const asking = useQuestion(async (query, turn, stop) => {
    setWords("");
    setAnswer(null);
    const body = { query, thinking_level: level };
    const got = await send("POST", `${of.path}recall/stream`, { body, signal: stop, headers: { "holdfast-turn": turn } });
    for await (const { event, data } of sent(got)) {
      const told = JSON.parse(data) as { text: string; answer: Answer };
      if (event === "text") setWords((before) => before + told.text);
      else if (event === "answer") setAnswer(told.answer);
    }
  });
  return (
    <div class="playground">
      <form class="playground-ask" onSubmit={asking.ask}>
        <TextField label={t.playground.question} value={asking.question} onInput={asking.setQuestion} placeholder={t.playground.example} autoFocus />
        <Select label={t.playground.level} value={level} onInput={setLevel} options={t.playground.levels} />
        <Button type="submit" look="primary" busy={asking.busy}>
          {t.playground.ask}
        </Button>
      </form>
      {asking.failure && <Trouble failure={asking.failure} again={() => asking.ask()} />}
      {asking.busy && words === "" && <Progress label={t.playground.reading} />}
      <div aria-live="polite" aria-busy={asking.busy}>
        {answer === null ? words !== "" && <p class="playground-answer">{words}</p> : <Answered answer={answer} question={asking.question} trace={asking.trace} />}
      </div>
      {answer === null && !asking.busy && asking.failure === null && <p class="quiet">{t.playground.askAbout}</p>}
    </div>
  );
}

function Answered({ answer, question, trace }: { answer: Answer; question: string; trace: string | null }) {
  const cited = answer.citations.map((citation) => ({ ...citation, of: answer.hits.find((hit) => hit.id === citation.hit) }));
  const rest = answer.hits.filter((hit) => !answer.citations.some((citation) => citation.hit === hit.id));
  return (
    <>
      {answer.answer === "" ? (
        <div class="playground-none">
          <h2>{t.playground.none}</h2>
          <p class="quiet">{t.playground.noneAbout(answer.hits.length)}</p>
        </div>
      ) : (
        <p class="playground-answer">
          {cut(answer.answer, cited.map((each) => each.quote)).map((piece, n) =>
            piece.of === null ? (
              piece.text
            ) : (
              <mark key={n}>
                {piece.text}
                <sup>{piece.of + 1}</sup>
              </mark>
            ),
          )}
        </p>
      )}
      <div class="actions playground-about">
        {answer.answer !== "" && <span class="quiet small numbers">{t.playground.sure(answer.confidence)}</span>}
        {trace !== null && (
          <LinkButton href={here("traces", [trace])} icon="traces" look="plain">
            {t.playground.why}
          </LinkButton>
        )}
      </div>
      {cited.length > 0 && (
        <section>
          <h2>{t.playground.sources}</h2>
          <ol class="playground-sources">
            {cited.map((each, n) => each.of && <Source key={n} n={n + 1} hit={each.of} quote={each.quote} question={question} />)}
          </ol>
        </section>
      )}
      {rest.length > 0 && <Hits hits={rest} question={question} title={t.playground.alsoRead(rest.length)} />}
    </>
  );
}

function Source({ n, hit, quote, question }: { n: number; hit: Hit; quote: string; question: string }) {
  const of = profile.value!;
  const said = useLoad(async (stop) => {
    const found = await Promise.all(hit.sources.slice(0, 3).map((id) => of.item(id, stop)));
    return found.filter((each): each is Message => !isMemory(each));
  }, [of.path, hit.id]);
  return (
    <li class="playground-source">
      <span class="n numbers" aria-hidden="true">
        {n}
      </span>
      <div>
        <p>
          <Marked text={hit.content} passage={quote} />
        </p>
        <p class="small quiet">
          <Tag>{hit.message_id === null ? hit.kind : (hit.speaker ?? t.roles[hit.role ?? ""] ?? t.playground.message)}</Tag> <Ago at={hit.timestamp ?? hit.created_at} /> ·{" "}
          <a href={here("memories", [hit.id])}>{t.playground.open}</a>
        </p>
        {said.value?.map((message) => (
          <blockquote key={message.id}>
            <span class="small quiet">{message.speaker ?? t.roles[message.role] ?? message.role}</span>
            <p>{message.content.includes(quote) ? <Marked text={message.content} passage={quote} /> : <MarkedWords text={message.content} question={`${quote} ${question}`} />}</p>
          </blockquote>
        ))}
      </div>
    </li>
  );
}

/** Hits in a fold, with the words of the question marked and the channels that found each. */
export function Hits({ hits, question, title, open = false }: { hits: Hit[]; question: string; title: string; open?: boolean }) {
  return (
    <details class="playground-hits" open={open}>
      <summary>{title}</summary>
      <ol>
        {hits.map((hit) => (
          <li key={hit.id}>
            <a href={here("memories", [hit.id])}>
              <MarkedWords text={hit.content} question={question} />
            </a>
            <span class="small quiet numbers">
              <Tag>{hit.message_id === null ? hit.kind : (hit.speaker ?? t.roles[hit.role ?? ""] ?? t.playground.message)}</Tag>{" "}
              {Object.entries(hit.channels).map(([channel, rank]) => `${t.traces.channels[channel] ?? channel} ${rank}`).join(" · ")} · {hit.score.toFixed(2)}
            </span>
          </li>
        ))}
      </ol>
    </details>
  );
}
