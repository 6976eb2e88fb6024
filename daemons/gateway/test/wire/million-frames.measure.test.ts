/**
 * A million random and mutated frames for each decoder: nothing is thrown but the faults it names, and nothing stays in
 * memory. Half of the mutated frames have their checksums mended, so that what lies behind them is reached too.
 */
import t, { type Test } from 'tap'
import { type Fire, fireAt } from '#kit/test/million.ts'
import { openRequest, readHeaders } from '../../wire/dnp3/application.ts'
import { describeFrame } from '../../wire/dnp3/describe.ts'
import { cutFrame, MOST_DATA, sealFrame } from '../../wire/dnp3/link.ts'
import { commandSize } from '../../wire/dnp3/objects.ts'
import { assemble } from '../../wire/dnp3/transport.ts'
import { isWholeFrame, openLongFrame, openMasterFrame, responseFrame } from '../../wire/mbus/frames.ts'
import { withOwnNames } from '../../wire/mbus/records.ts'
import { applicationError, meterOfFrame, openTelegram } from '../../wire/mbus/telegram.ts'
import { checkReply } from '../../wire/modbus-reply.ts'
import { readModbusRequest, sealed } from '../../wire/modbus-request.ts'
import { encodeMstpFrame, MOST_PLAIN, readMstpFrame } from '../../wire/mstp/frame.ts'
import { npduOf } from '../../wire/mstp/npdu.ts'
import { readBvlc, readRouted } from '../../wire/mstp/routed.ts'
import { telegrams } from './mbus/telegrams.ts'
import { golden } from './mstp/golden.ts'

const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'))

const fire = (t: Test, at: Omit<Fire, 'randomOneIn'>) => fireAt(t, { ...at, randomOneIn: 4 })

t.test('a million frames of MS/TP and BACnet', (t) =>
  fire(t, {
    golden: golden.map(({ hex }) => bytesOf(hex)),
    faults: /^(mstp|bacnet)_/,
    read(bytes) {
      const frame = readMstpFrame(bytes)
      npduOf(frame)
      if (frame.data.length > 0) readRouted(frame.data)
      readBvlc(Uint8Array.of(0x81, 0x0a, 0, 4 + frame.data.length, ...frame.data))
    },
    mend(bytes) {
      const [, , frameType = 0, destination = 0, source = 0] = bytes
      const isPlain = frameType < 32 || frameType > 127
      const data = bytes.slice(8, 8 + MOST_PLAIN)
      return isPlain ? encodeMstpFrame({ frameType, destination, source, data }) : bytes
    },
  }),
)

t.test('a million frames of M-Bus', (t) =>
  fire(t, {
    golden: Object.values(telegrams).map(bytesOf),
    faults: /^mbus_/,
    read(frame) {
      isWholeFrame(frame)
      openMasterFrame(frame)
      applicationError(frame)
      meterOfFrame(frame)
      withOwnNames(openTelegram(frame).records)
    },
    mend(frame) {
      const { ci = 0x72, data = frame.slice(0, 250) } = openLongFrame(frame) ?? {}
      return responseFrame(1, ci, data)
    },
  }),
)

t.test('a million frames of DNP3', (t) =>
  fire(t, {
    golden: dnp3Requests().flatMap((data) => [data, sealFrame({ ...dnp3Frame, data })]),
    faults: /^dnp3_objects$/,
    read(bytes) {
      const cut = cutFrame(bytes)
      if (cut?.kind !== 'frame') return
      describeFrame(cut.frame)
      const { fragment } = assemble(undefined, cut.frame.data, 2048)
      const request = fragment && openRequest(fragment)
      if (request) readHeaders(request.objects, commandSize)
    },
    mend(bytes) {
      const data = bytes[0] === LINK_START ? bytes.slice(10, 26) : bytes.slice(0, MOST_DATA)
      return sealFrame({ ...dnp3Frame, data })
    },
  }),
)

t.test('a million frames of Modbus', (t) => {
  const asked = [1, 2, 3, 4, 5, 6, 15, 16, 22, 23, 43].map((fc) => sealed([17, fc, 0, 1, 0, 2, 4, 0, 1, 0, 2]))
  const request = { unitId: 17, fc: 3, address: 1, quantity: 2 }
  const sent = { frame: sealed([17, 3, 0, 1, 0, 2]), request }
  return fire(t, {
    golden: [...asked, sealed([17, 3, 0, 1, 0, 2]), sealed([17, 3, 4, 0, 1, 0, 2]), sealed([17, 0x83, 2])],
    faults: /^modbus_/,
    read(frame) {
      if (frame.length % 2 === 0) readModbusRequest(frame)
      else checkReply(sent, frame)
    },
    mend: (frame) => sealed(frame.slice(0, -2)),
  })
})

const LINK_START = 0x05
const dnp3Frame = { isFromMaster: true, isPrimary: true, frameCountBit: null, function: 4, destination: 10, source: 1 }

/** Transport and application headers, and objects by each kind of range. @source IEEE 1815-2012, 4.2.2.7 */
function dnp3Requests(): Uint8Array[] {
  return [
    'C0 C0 01 3C 02 06 3C 03 06 3C 04 06 3C 01 06',
    'C0 C1 01 01 02 00 00 07 1E 05 00 00 03 14 01 01 00 00 00 05 00',
    'C0 C2 05 0C 01 17 01 03 03 01 64 00 00 00 64 00 00 00 00',
    'C0 C3 03 29 02 28 01 00 02 00 34 12 00 29 03 17 01 01 00 00 C0 3F 00',
    'C0 C4 02 32 01 07 01 00 00 00 00 00 00 50 01 00 07 07 00',
    'C0 C5 14 3C 02 06 3C 03 06',
    'C0 C6 09 14 00 06',
  ].map(bytesOf)
}
