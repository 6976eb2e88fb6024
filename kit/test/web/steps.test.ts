/** Tests of steps: which are done, which one is under way. */
import type { VNode } from 'preact'
import t from 'tap'
import { steps } from '#kit/web/figures.ts'

function states(at: number): string[] {
  const list = steps(['Sent', 'Verified', 'Installed'], at).props.children as VNode<Record<string, string>>[]
  return list.map(({ props }) => props['data-s'] ?? props['aria-current'] ?? '')
}

t.test('marks the steps done and the one under way; all are done after the last', async (t) => {
  t.same(states(0), ['step', '', ''])
  t.same(states(1), ['ok', 'step', ''])
  t.same(states(3), ['ok', 'ok', 'ok'])
})
