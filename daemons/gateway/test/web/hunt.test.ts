import t from 'tap'
import type { HuntFinding } from '../../core/hunt/findings.ts'
import type { HuntJob } from '../../core/hunt/run.ts'
import { judgeHunt, takenWords } from '../../web/hunt-page.ts'

const setting = { baud: 19_200, data_bits: 8, parity: 'even', stop_bits: 1 } as const
const done: HuntJob = {
  ...{
    state: 'done',
    startedAt: 1,
    endedAt: 2,
    fault: null,
    protocols: ['modbus-rtu'],
    ask: false,
    from: null,
    to: null,
  },
  ...{ phase: null, current: null, tried: 24, total: 24, etaMs: null, found: [], refused: [] },
  verdict: 'Nothing was heard.',
}
const found: HuntFinding = {
  ...{ protocol: 'modbus-rtu', line: setting, also: [], how: 'heard', isSure: true, frames: 8, units: [3] },
  ...{ gave: [], wrong: 0 },
  evidence: '19200 8E1: 8 Modbus frames heard.',
}

t.test('the verdict says what is tried, and what came of it', async (t) => {
  t.match(judgeHunt(null), { lit: 'off', sentence: 'No hunt has run yet.' })
  const running = { ...done, state: 'running', phase: 'listen', current: '9600 8N1', tried: 3, etaMs: 200 } as const
  t.match(judgeHunt(running), { lit: 'busy', sentence: 'Listening at 9600 8N1.', why: /^3 of 24 settings tried\. 1/ })
  t.match(judgeHunt({ ...running, phase: 'ask', current: '9600 8N1, unit 7' }), {
    sentence: 'Asking at 9600 8N1, unit 7.',
  })
  t.match(judgeHunt(done), { lit: 'warn', sentence: 'Nothing was heard.', why: '' })
  t.match(judgeHunt({ ...done, found: [found] }), { lit: 'ok' })
  t.match(judgeHunt({ ...done, found: [{ ...found, isSure: false }] }), { lit: 'warn' })
  t.match(judgeHunt({ ...done, state: 'cancelled' }), { lit: 'off' })
  t.match(judgeHunt({ ...done, refused: ['76800 8N1'] }), { why: 'The driver refuses 76800 8N1.' })
  const fault = { code: 'line_gone', message: 'It is gone.' }
  t.match(judgeHunt({ ...done, state: 'failed', fault }), { lit: 'fault', sentence: 'It is gone.' })
})

t.test('a line on which another master was heard is taken in mode listen', async (t) => {
  t.equal(takenWords(found, setting), 'modbus-rtu 19200 8 even 1 listen')
  t.equal(takenWords({ ...found, how: 'answered' }, setting), 'modbus-rtu 19200 8 even 1')
  t.equal(takenWords({ ...found, protocol: 'mbus' }, setting), 'mbus 19200 8 even 1')
})
