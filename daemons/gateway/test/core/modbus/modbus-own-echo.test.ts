/** A unit of ours on a line that echoes our own bytes. */
import t from 'tap'
import { createModbusSlave } from '../../../core/modbus/slave.ts'
import { frameOf } from '../../wire/modbus-talk.ts'
import { type LineOfOthers, lineOfOthers } from './line-of-others.ts'
import { settingsWith } from './modbus-line.ts'
import { modbusRtu } from './rtu.ts'

function slave(hasEcho: boolean, local_echo: 'auto' | 'present' | 'absent' = 'auto'): LineOfOthers {
  const settings = settingsWith({
    mode: 'slave',
    local_echo,
    slave_units: [7],
    slave_blocks: [{ table: 'holding_registers', address: 0, quantity: 9, initial: 0 }],
  })
  const rig = lineOfOthers((context) => createModbusSlave(context, settings, modbusRtu, ['', '', '']))
  const write = rig.line.write.bind(rig.line)
  rig.line.write = async (bytes) => {
    await write(bytes)
    if (hasEcho) for (const byte of bytes) rig.say(Uint8Array.of(byte))
  }
  return rig
}

const read = frameOf({ unitId: 7, fc: 3, address: 0, quantity: 1 })
const write = frameOf({ unitId: 7, fc: 6, address: 1, quantity: 1, values: [5] })

t.test('our own answers are not requests, even if they equal one', async (t) => {
  for (const first of [read, write]) {
    const { say, line, clock, count, frames } = slave(true)
    for (const frame of [first, write, read, write, write]) {
      say(frame)
      await clock.run(30)
    }
    await clock.run(500)
    t.equal(line.written.length, 5)
    t.match(
      { asked: count('asked'), echoes: count('echoes'), noiseBytes: count('noiseBytes') },
      { asked: 5, echoes: 5, noiseBytes: 0 },
    )
    t.equal(frames.filter(({ decoded }) => (decoded as { kind: string }).kind === 'echo').length, 5)
  }
})

t.test('a line is known to have no echo after one answer: the same write again is a request', async (t) => {
  const { say, line, clock } = slave(false)
  say(read)
  await clock.run(5)
  for (let turn = 0; turn < 4; turn++) {
    say(write)
    await clock.run(5)
  }
  t.equal(line.written.length, 5)
})

t.test('silence after an answer shows that there is no echo', async (t) => {
  const { say, line, clock } = slave(false)
  say(write)
  await clock.run(300)
  for (let turn = 0; turn < 3; turn++) {
    say(write)
    await clock.run(5)
  }
  t.equal(line.written.length, 4)
})

t.test('a frame that begins like our answer but continues differently is a request', async (t) => {
  const { say, line, clock } = slave(true, 'present')
  line.write = async () => void line.written.push(new Uint8Array(0))
  say(read)
  await clock.run(5)
  say(read.slice(0, 2))
  await clock.run(5)
  say(read.slice(2))
  await clock.run(5)
  t.equal(line.written.length, 2)
})

t.test('with local_echo set nothing is learned', async (t) => {
  const { say, line, clock } = slave(false, 'absent')
  say(write)
  await clock.run(5)
  say(write)
  await clock.run(5)
  t.equal(line.written.length, 2)
})
