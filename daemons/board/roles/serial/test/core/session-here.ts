/** An RFC 2217 session on a fake line, and what it sends, in words. */

import { wait } from '#kit/clock.ts'
import { fakeClock } from '#kit/clock-fake.ts'
import { hexOf } from '#kit/pure/bytes.ts'
import { LineDesk } from '../../core/line.ts'
import { Rfc2217Session } from '../../core/rfc2217-session.ts'
import { type ComPortMessage, comPortFrame, openComPort } from '../../wire/com-port.ts'
import { createTelnetReader, OPTION, optionFrame, type TelnetEvent } from '../../wire/telnet.ts'
import { type FakeLine, fakeLine, lineSettings } from './fake-line.ts'
import { settled } from './settled.ts'

/** @param dress removes abilities of the line */
export function sessionHere(dress: (line: FakeLine) => void = () => {}) {
  const clock = fakeClock()
  const line = fakeLine()
  dress(line)
  const here = {
    mayWrite: true,
    received: 0,
    busy: [] as boolean[],
    held: [] as boolean[],
    written: [] as string[],
    troubles: [] as string[],
    dropped: 0,
  }
  const note = (fault: unknown) => here.troubles.push((fault as { code?: string }).code ?? String(fault))
  const reader = createTelnetReader(512)
  const said: string[] = []
  const desk: LineDesk = new LineDesk({
    clock,
    saved: lineSettings,
    drainMs: 100,
    lookMs: 100,
    receivedBytes: () => here.received,
    isModemWanted: () => session.wantsModem,
    isLookWanted: () => session.wantsLook,
    onModem: (lines) => session.modemChanged(lines),
    onLook: (look) => session.looked(look),
  })
  const session: Rfc2217Session = new Rfc2217Session({
    desk,
    suboptionBytes: 64,
    signature: 'Plantroom',
    breakMs: 250,
    wait: (delayMs) => wait(clock, delayMs),
    mayWrite: () => here.mayWrite,
    tell: (bytes) => said.push(...Array.from(reader.feed(bytes), wordsOf)),
    write: (bytes) => here.written.push(hexOf(bytes)),
    setHeld: (isHeld) => here.held.push(isHeld),
    dropWaiting: () => here.dropped++,
    onBusy: (isBusy) => here.busy.push(isBusy),
    onComPort() {},
    onLost: note,
    onTrouble: note,
  })
  desk.attach(line)
  session.start()

  /** What was sent since the last call. */
  const heard = () => said.splice(0)

  /** The client sends these, and everything that follows happens. */
  async function say(...frames: Uint8Array[]): Promise<string[]> {
    session.feed(Buffer.concat(frames))
    for (let turn = 0; turn < 10; turn++) await settled()
    return heard()
  }

  /** Options as python3-serial agrees to them. */
  const agree = () =>
    say(
      ...[OPTION.binary, OPTION.sga, OPTION.comPort].map((option) => optionFrame('will', option)),
      ...[OPTION.binary, OPTION.sga].map((option) => optionFrame('do', option)),
    )

  return { ...here, here, clock, line, desk, session, say, heard, agree }
}

/** `{ from: 'client' }` and the rest. */
export function ask(command: Exclude<ComPortMessage['command'], 'signature'>, value: number | null): Uint8Array {
  return comPortFrame({ from: 'client', command, value })
}

function wordsOf(event: TelnetEvent): string {
  if (event.kind === 'option') return `${event.verb} ${event.option}`
  if (event.kind === 'data') return `data ${Buffer.from(event.bytes).toString('latin1')}`
  if (event.kind !== 'suboption') return event.kind
  const message = openComPort(event.payload)
  const value = message.command === 'signature' ? Buffer.from(message.text).toString() : message.value
  return `${message.from} ${message.command} ${value}`
}
