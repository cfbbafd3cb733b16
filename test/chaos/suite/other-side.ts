// The other side of the handoffs: takes the messages of the job `handed`, and answers some of them late, some twice,
// some under another fence, some never.
// In: the messages in the database; a URL that may fail it. Out: what it has decided, and the answers to its calls.
import type { Tock } from '../../../src/tock/types.js';
import type { DecisionCall } from '../history-hand-offs.js';
import { lot } from '../lot.js';
import { openConnections } from './connections.js';
import { HANDOFF_LEASE_MS } from './load.js';
import { sleep, startLoop } from './loop.js';
import type { Query } from './stage.js';
import * as sql from './statements.js';

interface Message {
  readonly runId: string;
  readonly fence: number;
  readonly attempt: number;
}
type Decision = DecisionCall['decision'];

const CONNECTIONS = 4;
const LOOK_EVERY_MS = 200;
const ASK_AGAIN_MS = 200;
/** From this attempt on each message is answered in time: a run must end. */
const PROMPT_FROM = 4;

/** Starts it. */
export function startOtherSide(options: {
  readonly query: Query;
  readonly tock: Tock;
  readonly url: string;
  readonly signal: AbortSignal;
}) {
  const { query, tock, url } = options;
  const calls: DecisionCall[] = [];
  const connections = openConnections(url, CONNECTIONS);
  const answering = new Set<Promise<void>>();

  const bySql = (text: string, { runId, fence }: Message, ...more: readonly unknown[]) =>
    connections.use(async client => {
      const { rows } = await client.query<{ held: boolean }>(text, [runId, fence, ...more]);
      return rows[0]?.held === true;
    });
  const send = async (message: Message, decision: Decision): Promise<boolean> => {
    const { runId, fence } = message;
    const isRetried = decision === 'failed';
    if (lot(message, 11) < 0.5) {
      if (decision === 'succeeded') return await bySql(sql.COMPLETE, message);
      return await bySql(sql.FAIL, message, isRetried);
    }
    if (decision === 'succeeded') return await tock.complete(runId, fence);
    return await tock.fail(runId, fence, 'by lot', { retry: isRetried });
  };
  /** It asks again until it knows. */
  const decide = async (message: Message, decision: Decision): Promise<void> => {
    const { runId, fence } = message;
    for (let answer: DecisionCall['answer'] = 'unknown'; answer === 'unknown' && !signal.aborted; ) {
      answer = await send(message, decision).catch(() => 'unknown' as const);
      calls.push({ runId, fence, decision, answer });
      if (answer === 'unknown') await sleep(ASK_AGAIN_MS, signal);
    }
  };
  const answer = async (message: Message): Promise<void> => {
    const way = wayOf(message);
    if (way === 'never') return;
    const decision = decisionOf(message);
    await sleep(lot(message, 13) * 500, signal);
    if (way === 'late') await sleep(HANDOFF_LEASE_MS + lot(message, 14) * 2000, signal);
    if (way === 'forged') await decide({ ...message, fence: message.fence + 1 }, 'succeeded');
    if (way === 'extended' && (await bySql(sql.EXTEND, message).catch(() => false)))
      await sleep(HANDOFF_LEASE_MS + 500, signal);
    const second = way === 'twice' ? [decide(message, lot(message, 15) < 0.5 ? decision : 'dead')] : [];
    await Promise.all([decide(message, decision), ...second]);
  };
  const loop = startLoop(
    options.signal,
    () => LOOK_EVERY_MS,
    async () => {
      for (const message of await query<Message>(sql.TAKE_MESSAGES)) {
        const answered = answer(message).finally(() => answering.delete(answered));
        answering.add(answered);
      }
    },
  );
  const { signal } = loop;
  return {
    calls,
    /** Takes no more messages, and gives up what it has not answered yet. */
    async stop() {
      await loop.stop();
      await Promise.all(answering);
      await connections.close();
    },
  };
}

type Way = 'never' | 'late' | 'extended' | 'forged' | 'twice' | 'in time';

function wayOf(message: Message): Way {
  const die = lot(message, 12);
  if (message.attempt >= PROMPT_FROM || die >= 0.5) return 'in time';
  if (die < 0.1) return 'never';
  if (die < 0.2) return 'late';
  if (die < 0.25) return 'extended';
  return die < 0.3 ? 'forged' : 'twice';
}

function decisionOf(message: Message): Decision {
  const die = lot(message, 16);
  if (die < 0.8) return 'succeeded';
  return die < 0.95 ? 'failed' : 'dead';
}
