// The banner of every page while everything is frozen.
import { includesRole } from '../../model/operator.js';
import type { View } from '../view.js';
import { Time } from './parts.js';
import { plainLine } from './plain-text.js';

export function FrozenBanner({ view }: { readonly view: View }) {
  const { frozen } = view.frame;
  if (frozen === null) return null;
  const { until, by, note } = frozen;
  return (
    <p class="notice" role="status">
      <b>Everything is frozen</b>{' '}
      {until > view.now ? (
        <>
          until <Time view={view} at={until} /> (<Time view={view} at={until} relative />)
        </>
      ) : (
        'until what waits is spread, with the next tick'
      )}{' '}
      by {plainLine(by, 100)}: {plainLine(note, 500)}. Nothing starts on any host; what runs goes on.{' '}
      <a href={view.link('/freeze')}>{includesRole(view.user.role, 'admin') ? 'Change or end it' : 'More'}</a>
    </p>
  );
}
