// A group on the page of its join: its members as one picture, what it waits for, the slowest, errors.
import { type DrawnGroup, MAX_DRAWN } from '../../answers/runs/read-group.js';
import { formatSpan } from '../../model/duration.js';
import {
  groupSentence,
  MEMBER_STATUSES,
  type MemberStatus,
  unsuccessfulOf,
} from '../../model/run/group-record.js';
import { ActionForm, Facts, Sheet, StatusPill } from '../layout/parts.js';
import { plainLine } from '../layout/plain-text.js';
import { GroupCells } from '../pictures/group-cells.js';
import { MarkIcon } from '../pictures/mark.js';
import type { View } from '../view.js';
import { STATE_WORDS } from './filter-words.js';

export interface GroupProps {
  readonly view: View;
  readonly drawn: DrawnGroup;
}

const said = (count: number) => count.toLocaleString('en');
const wordOf = (status: MemberStatus) => (status === 'pruned' ? 'pruned' : STATE_WORDS[status]);

export function GroupSection({ view, drawn: { group, spans } }: GroupProps) {
  const list = (status: MemberStatus) =>
    view.link('/runs', { group: group.id, ...(status === 'pruned' ? {} : { status }) });
  const shown = MEMBER_STATUSES.filter(status => group.states[status] > 0);
  const sentence = groupSentence(group);
  return (
    <section class="group" aria-label="Group">
      <h2>
        Group <small>{sentence}</small>
      </h2>
      <Sheet>
        <GroupCells
          spans={spans}
          href={span => (span.count === 1 ? view.link(`/runs/${span.first[0] ?? ''}`) : list(span.status))}
          label={`${said(group.count)} runs: ${shown.map(status => `${said(group.states[status])} ${wordOf(status)}`).join(', ')}`}
        />
        {group.count > MAX_DRAWN ? <p class="faint">The first {said(MAX_DRAWN)} are drawn.</p> : null}
        <ul class="group-counts">
          {shown.map(status => (
            <li>
              <MarkIcon state={status} />{' '}
              <a href={list(status)}>
                <b>{said(group.states[status])}</b> {wordOf(status)}
              </a>
            </li>
          ))}
        </ul>
        <Facts
          rows={[
            [
              'Waits for',
              group.waitsFor.length === 0 ? null : (
                <>
                  {group.waitsFor.map(({ id, status }) => (
                    <span class="group-member">
                      <Run view={view} id={id} /> <Pill status={status} />
                    </span>
                  ))}
                </>
              ),
            ],
            [
              'Slowest',
              group.slowest.length === 0 ? null : (
                <>
                  {group.slowest.map(({ id, status, tookMs }) => (
                    <span class="group-member">
                      <Run view={view} id={id} /> {formatSpan(tookMs)}
                      {status === 'running' ? ', still running' : ''}
                    </span>
                  ))}
                </>
              ),
            ],
            [
              'Errors',
              group.errors.length === 0 ? null : (
                <>
                  {group.errors.slice(0, 5).map(({ count, error, lastId }) => (
                    <div>
                      <a
                        href={view.link('/runs', {
                          group: group.id,
                          status: 'dead',
                          message: error.message,
                          name: error.name,
                          code: error.code ?? '',
                        })}
                      >
                        {said(count)} dead
                      </a>{' '}
                      {plainLine(`${error.code ?? error.name}: ${error.message}`, 200)}, last{' '}
                      <Run view={view} id={lastId} />
                    </div>
                  ))}
                </>
              ),
            ],
          ]}
        />
      </Sheet>
    </section>
  );
}

function Run({ view, id }: { readonly view: View; readonly id: string }) {
  return (
    <a class="mono" href={view.link(`/runs/${id}`)}>
      {id}
    </a>
  );
}

function Pill({ status }: { readonly status: MemberStatus }) {
  return status === 'pruned' ? <span class="faint">pruned</span> : <StatusPill status={status} />;
}

/** What can be done to all of it. */
export function GroupActions({ view, drawn: { group } }: GroupProps) {
  const { id, states, count, status, endedAt } = group;
  const { dead, queued, running, failed } = states;
  const left = queued + running + failed;
  const isWaiting = status === 'queued' && endedAt === null;
  const unsuccessful = unsuccessfulOf(group);
  return (
    <>
      {dead > 0 ? (
        <ActionForm
          view={view}
          action={`/groups/${id}/retry`}
          label={`Retry ${said(dead)} dead`}
          confirm={{
            verb: `Retry ${said(dead)} of ${said(count)} runs`,
            keep: 'Leave them dead',
            text: `This puts all dead runs of group ${id} back into the queue, due now: ${said(dead)} of ${said(count)}.`,
          }}
          main
          needs="operate"
        />
      ) : null}
      {isWaiting && unsuccessful > 0 ? (
        <ActionForm
          view={view}
          action={`/groups/${id}/continue`}
          label="Continue"
          confirm={{
            verb: `Continue group ${id}`,
            keep: 'Keep it waiting',
            text: `From now on the join waits only for the ends of its ${said(count)} runs, of which ${said(unsuccessful)} did not succeed.`,
          }}
          needs="operate"
        />
      ) : null}
      {left > 0 ? (
        <ActionForm
          view={view}
          action={`/groups/${id}/cancel`}
          label="Cancel group"
          confirm={{
            verb: `Cancel group ${id}`,
            keep: 'Keep it',
            text: `This cancels the join and the ${said(left)} of ${said(count)} runs that have not ended; the handlers of ${said(running)} running ones are asked to stop.`,
          }}
          needs="operate"
        />
      ) : null}
    </>
  );
}
