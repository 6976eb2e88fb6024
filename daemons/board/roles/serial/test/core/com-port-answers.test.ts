/** Settings and control of RFC 2217 on a line with every signal, and on one with none. */
import t from 'tap'
import { CONTROL } from '../../wire/com-port.ts'
import type { FakeLine } from './fake-line.ts'
import { ask, sessionHere } from './session-here.ts'

const control = (code: number) => ask('control', code)
const answer = (code: number) => [`server control ${code}`]

/** A pty, an RS-485 adapter: no modem lines, no counts. */
function bare(line: FakeLine): void {
  line.modem = null
  line.counts = null
}

t.test('RFC 2217, 2 each setting is made, and answered with its new value', async (t) => {
  const { say, agree, line } = sessionHere()
  await agree()
  t.strictSame(await say(ask('baud', 115_200)), ['server baud 115200'])
  t.strictSame(await say(ask('dataBits', 7)), ['server dataBits 7'])
  t.strictSame(await say(ask('parity', 3)), ['server parity 3'])
  t.strictSame(await say(ask('stopBits', 2)), ['server stopBits 2'])
  t.strictSame(line.settings, { ...line.settings, baud: 115_200, data_bits: 7, parity: 'even', stop_bits: 2 })
})

t.test('RFC 2217, 2 the value 0 asks and changes nothing', async (t) => {
  const { say, agree, line } = sessionHere()
  await agree()
  t.strictSame(await say(ask('baud', 0), ask('dataBits', 0), ask('parity', 0), ask('stopBits', 0)), [
    'server baud 9600',
    'server dataBits 8',
    'server parity 1',
    'server stopBits 1',
  ])
  t.strictSame(line.did, [])
})

t.test(
  'RFC 2217, 2 a setting that a driver does not keep, or an invalid one, is answered with the value in effect',
  async (t) => {
    const { say, agree, line } = sessionHere((one) => {
      one.refuses = ({ data_bits, parity }) => (data_bits !== 8 || parity !== 'none' ? 'never' : undefined)
    })
    await agree()
    t.strictSame(await say(ask('dataBits', 7)), ['server dataBits 8'])
    t.strictSame(await say(ask('parity', 2)), ['server parity 1'])
    t.strictSame(await say(ask('dataBits', 9), ask('parity', 6), ask('stopBits', 4), ask('baud', 4_000_000_000)), [
      'server dataBits 8',
      'server parity 1',
      'server stopBits 1',
      'server baud 9600',
    ])
    t.strictSame(line.did, [])
  },
)

t.test('RFC 2217, 2 one and a half stop bits are code 3, with five bits', async (t) => {
  const { say, agree, line } = sessionHere()
  await agree()
  t.strictSame(await say(ask('stopBits', 3)), ['server stopBits 1'], 'with eight bits there are no such stop bits')
  t.strictSame(await say(ask('dataBits', 5), ask('stopBits', 3)), ['server dataBits 5', 'server stopBits 3'])
  t.equal(line.settings.stop_bits, 1.5)
  t.strictSame(await say(ask('dataBits', 8)), ['server dataBits 8'])
  t.equal(line.settings.stop_bits, 2, 'a longer stop becomes the longer stop')
  t.strictSame(await say(ask('dataBits', 5)), ['server dataBits 5'])
  t.equal(line.settings.stop_bits, 1.5)
})

t.test('RFC 2217, 3 flow control of both directions', async (t) => {
  const { say, agree, line } = sessionHere()
  await agree()
  const flow = () => `${line.settings.flow} ${line.settings.flow_in}`
  t.strictSame(await say(control(CONTROL.askFlow)), answer(CONTROL.flowNone))
  t.strictSame(await say(control(CONTROL.flowXonXoff)), answer(CONTROL.flowXonXoff))
  t.equal(flow(), 'xonxoff xonxoff')
  t.strictSame(await say(control(CONTROL.flowHardware)), answer(CONTROL.flowHardware))
  t.equal(flow(), 'rtscts rtscts')
  t.strictSame(await say(control(CONTROL.askFlow)), answer(CONTROL.flowHardware))
  t.strictSame(await say(control(CONTROL.flowNone)), answer(CONTROL.flowNone))
  t.equal(flow(), 'none none')
})

t.test('RFC 2217, 3 flow control only of data from the line', async (t) => {
  const { say, agree, line } = sessionHere()
  await agree()
  const flow = () => `${line.settings.flow} ${line.settings.flow_in}`
  t.strictSame(await say(control(CONTROL.askFlowIn)), answer(CONTROL.flowInNone))
  t.strictSame(await say(control(CONTROL.flowInXonXoff)), answer(CONTROL.flowInXonXoff))
  t.equal(flow(), 'none xonxoff')
  t.strictSame(await say(control(CONTROL.flowInNone)), answer(CONTROL.flowInNone))
  t.equal(flow(), 'none none')
  t.strictSame(await say(control(CONTROL.flowInHardware)), answer(CONTROL.flowInHardware))
  t.equal(flow(), 'rtscts rtscts', 'a driver has it in both directions')
  t.strictSame(await say(control(CONTROL.flowInNone)), answer(CONTROL.flowInNone))
  t.equal(flow(), 'none none')
})

t.test('RFC 2217, 3 DCD, DTR and DSR flow control are answered with the flow control there is', async (t) => {
  const { say, agree, line } = sessionHere()
  await agree()
  await say(control(CONTROL.flowXonXoff))
  t.strictSame(await say(control(CONTROL.flowDcd)), answer(CONTROL.flowXonXoff))
  t.strictSame(await say(control(CONTROL.flowDsr)), answer(CONTROL.flowXonXoff))
  t.strictSame(await say(control(CONTROL.flowInDtr)), answer(CONTROL.flowInXonXoff))
  t.strictSame(await say(control(77)), answer(CONTROL.flowXonXoff), 'and so is an unknown value')
  t.equal(line.did.length, 1)
})

for (const [name, dress] of [
  ['with modem lines', () => {}],
  ['without modem lines', bare],
] as const)
  t.test(`RFC 2217, 3 break, DTR and RTS are set, reported and queried, on a line ${name}`, async (t) => {
    const { say, agree } = sessionHere(dress)
    await agree()
    for (const [question, on, off] of [
      [CONTROL.askBreak, CONTROL.breakOn, CONTROL.breakOff],
      [CONTROL.askDtr, CONTROL.dtrOn, CONTROL.dtrOff],
      [CONTROL.askRts, CONTROL.rtsOn, CONTROL.rtsOff],
    ] as const) {
      t.strictSame(await say(control(on)), answer(on))
      t.strictSame(await say(control(question)), answer(on))
      t.strictSame(await say(control(off)), answer(off))
      t.strictSame(await say(control(question)), answer(off))
    }
  })

t.test('RFC 2217, 3 every SET-CONTROL is answered once', async (t) => {
  const { say, agree } = sessionHere(bare)
  await agree()
  for (let code = 0; code <= 255; code++) {
    const answers = await say(control(code))
    t.equal(answers.length, 1, `control ${code}`)
    t.match(answers[0], /^server control \d+$/)
  }
})

t.test('RFC 2217, 3 signals reach the line in the order of the requests', async (t) => {
  const { say, agree, line } = sessionHere()
  await agree()
  await say(control(CONTROL.breakOn), control(CONTROL.breakOff), control(CONTROL.dtrOff), control(CONTROL.rtsOff))
  t.strictSame(line.did, ['break true', 'break false', 'modem {"dtr":false}', 'modem {"rts":false}'])
})
