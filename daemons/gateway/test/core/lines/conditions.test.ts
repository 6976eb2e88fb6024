/** What the ledger is told of ports: one cause is one entry. */
import t from 'tap'
import type { Condition } from '#kit/records/ledger-entry.ts'
import { isOfPort, PortConditions } from '../../../core/lines/conditions.ts'

const PORT = '/dev/ttyUSB0'

/** The conditions that last, as `what where`. */
function stage() {
  const open = new Map<string, Condition>()
  const conditions = new PortConditions({
    raise: (condition) => void open.set(`${condition.what} ${condition.where}`, condition),
    clear: (what, where) => void open.delete(`${what} ${where}`),
    happened: () => {},
  })
  const hear = (event: string, payload: object, port = PORT) => conditions.hear({ port, event, payload })
  return {
    conditions,
    last: () => [...open.keys()],
    sentences: () => [...open.values()].map(({ sentence }) => sentence),
    port: (state: string, port = PORT) => hear('port', { state, fault: { message: `It is ${state}.` } }, port),
    unit: (unitId: number, state: string) => hear('unit', { unitId, state, message: `Unit ${unitId} is ${state}.` }),
    point: (name: string, unitId: number, quality: string) => hear('value', { name, unitId, quality }),
  }
}

t.test('a line is lost until it is open, through all tries', async (t) => {
  const { last, port, sentences } = stage()
  port('open')
  port('absent')
  t.same(last(), [`line_absent ${PORT}`])
  t.same(sentences(), ['It is absent.'])
  port('opening')
  t.same(last(), [`line_absent ${PORT}`])
  port('failed')
  t.same(last(), [`line_refused ${PORT}`])
  port('open')
  t.same(last(), [])
  port('absent')
  port('closed')
  t.same(last(), [], 'nobody wants it open')
})

t.test('a unit is silent, noisy or slow until it is well', async (t) => {
  const { last, port, unit } = stage()
  port('open')
  unit(3, 'noisy')
  t.same(last(), [`unit_noisy ${PORT} unit 3`])
  unit(3, 'silent')
  t.same(last(), [`unit_silent ${PORT} unit 3`])
  unit(3, 'slow')
  t.same(last(), [`unit_slow ${PORT} unit 3`])
  unit(3, 'well')
  t.same(last(), [])
})

t.test('what is wrong beside an open line is one entry, and its units are none meanwhile', async (t) => {
  const { conditions, last, port, unit } = stage()
  const beside = (fault: object | null) =>
    conditions.hear({ port: PORT, event: 'port', payload: { state: 'open', previous: 'open', fault } })
  port('open')
  unit(3, 'silent')
  beside({ code: 'mstp_alone', message: 'Nobody else is heard any more.' })
  unit(4, 'silent')
  t.same(last(), [`mstp_alone ${PORT}`])
  beside(null)
  t.same(last(), [])
  unit(4, 'silent')
  t.same(last(), [`unit_silent ${PORT} unit 4`])
  beside({ code: 'mstp_alone', message: 'Nobody else is heard any more.' })
  port('closed')
  t.same(last(), [])
})

t.test('while a unit is silent or its line is lost nothing is said of its points', async (t) => {
  const { last, point, port, unit } = stage()
  port('open')
  point('flow', 3, 'stale')
  point('level', 4, 'bad')
  t.same(last(), [`point_stale ${PORT} point flow`, `point_refused ${PORT} point level`])
  unit(3, 'silent')
  t.same(last(), [`point_refused ${PORT} point level`, `unit_silent ${PORT} unit 3`])
  point('flow', 3, 'stale')
  point('level', 4, 'good')
  t.same(last(), [`unit_silent ${PORT} unit 3`])
  port('absent')
  point('level', 4, 'stale')
  t.same(last(), [`line_absent ${PORT}`])
})

t.test('what is removed is said of no more', async (t) => {
  const { conditions, last, point, port, unit } = stage()
  port('open')
  point('flow', 3, 'stale')
  point('level', 3, 'stale')
  conditions.onlyPoints(PORT, ['level'])
  t.same(last(), [`point_stale ${PORT} point level`])
  unit(3, 'noisy')
  conditions.forgetUnit(PORT, 3)
  t.same(last(), [])
  conditions.webhook(PORT, 'id-1', { target: 'http://bms.example', reason: 'answered 500' })
  port('absent')
  conditions.forget(PORT)
  t.same(last(), [])
})

t.test('a target is paused until it takes events, whatever its line does', async (t) => {
  const { conditions, last, port } = stage()
  const pause = { target: 'http://bms.example', reason: 'answered 500' }
  conditions.webhook(PORT, 'aaaaaaaa-1', pause)
  conditions.webhook(PORT, 'bbbbbbbb-2', pause)
  port('open')
  t.equal(last().length, 2, 'two webhooks to one place are two entries')
  conditions.webhook(PORT, 'aaaaaaaa-1', null)
  t.same(last(), [`webhook_paused ${PORT} webhook http://bms.example bbbbbbbb`])
})

t.test('a place begins with its port, and another port of a longer name is another', async (t) => {
  t.ok(isOfPort(`${PORT} unit 3`, PORT))
  t.ok(isOfPort(PORT, PORT))
  t.notOk(isOfPort(`${PORT}1`, PORT))
})
