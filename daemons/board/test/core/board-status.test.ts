import t from 'tap'
import { fakeClock } from '#kit/clock-fake.ts'
import type { NetworkView } from '../../core/machine/network.ts'
import type { Verdict } from '../../core/role.ts'
import { createBoardStatus, type StatusSources } from '../../core/status.ts'

const well: NetworkView = { state: 'static', confirmUntil: null, text: 'The board keeps its address.' }

function statusOf(role: Verdict, network: NetworkView, nameTrouble?: string, clock = fakeClock()) {
  const facts = { addresses: [], temperatureC: null, memory: {}, load: [0, 0, 0], isTimeSynchronised: null }
  const sources = {
    clock,
    house: { verdict: () => role, state: () => ({}) },
    facts: () => facts,
    names: {},
    isSetUp: () => true,
    started: { startedAt: 0, reason: 'power' },
    identifyUntil: () => null,
    isPasswordSet: () => false,
    network: () => network,
    ota: () => ({ state: 'idle' }),
    ledger: () => ({ open: { fault: 0, warning: 0, notice: 0 }, revision: 0 }),
    nameTrouble: () => nameTrouble,
  } as unknown as StatusSources
  return createBoardStatus(sources)
}

function verdictOf(role: Verdict, network: NetworkView, nameTrouble?: string): Verdict {
  return statusOf(role, network, nameTrouble)().verdict
}

t.test('B.endpoints the status begins with the word of the role', async (t) => {
  t.same(verdictOf({ state: 'ok', text: 'All lines are shared.' }, well), {
    state: 'ok',
    text: 'All lines are shared.',
  })
})

t.test('a board whose address or name could not be set, or is on trial, is not called well', async (t) => {
  const role: Verdict = { state: 'ok', text: 'All lines are shared.' }
  for (const state of ['refused', 'fallen_back', 'unconfirmed'] as const)
    t.same(verdictOf(role, { ...well, state, text: 'Nobody reached it.' }), {
      state: 'warn',
      text: 'Nobody reached it.',
    })
  t.same(verdictOf(role, well, 'The name was not taken.'), { state: 'warn', text: 'The name was not taken.' })
})

t.test('faults of the role itself come first', async (t) => {
  for (const state of ['warn', 'fault'] as const) {
    const role: Verdict = { state, text: 'No line is there.' }
    t.same(verdictOf(role, { ...well, state: 'refused' }, 'The name was not taken.'), role)
  }
})

t.test('the uptime is given in whole seconds', async (t) => {
  const clock = fakeClock()
  const status = statusOf({ state: 'ok', text: '' }, well, undefined, clock)
  clock.advance(61_999)
  t.equal(status().uptime_s, 61)
})
