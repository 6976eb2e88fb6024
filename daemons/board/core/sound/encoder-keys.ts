/** Keys of the table `audio` that an encoder alone has. */
import { Type } from 'typebox'
import { groupFault } from '../../wire/multicast-group.ts'

export const encoderKeys = {
  second_group: Type.String({
    default: '',
    maxLength: 15,
    description: 'a second multicast group to which an encoder sends the same packets (ST 2022-7); empty: none',
  }),
  dscp: Type.Integer({
    default: 34,
    minimum: 0,
    maximum: 63,
    description: 'DSCP of the packets of sound, which switches go by: AES67 has 34 (AF41), Audinate 46',
  }),
  ttl: Type.Integer({
    default: 32,
    minimum: 1,
    maximum: 255,
    description: 'routers that packets of sound may cross, and one more',
  }),
  payload_type: Type.Integer({
    default: 97,
    minimum: 96,
    maximum: 127,
    description: 'RTP payload type of the stream',
  }),
  late_ms: Type.Integer({
    default: 250,
    minimum: 1,
    maximum: 1000,
    unit: 'ms',
    description:
      'by how much packets may leave late and be caught up with, before their count begins anew at the time it is',
  }),
  meter_ms: Type.Integer({
    default: 50,
    minimum: 10,
    maximum: 1000,
    unit: 'ms',
    description: 'how often an encoder measures how loud its source is',
  }),
  silence_db: Type.Integer({
    default: -70,
    minimum: -140,
    maximum: 0,
    unit: 'dB',
    description: 'peak below which a source is silent',
  }),
  silence_s: Type.Integer({
    default: 60,
    minimum: 1,
    maximum: 86_400,
    unit: 's',
    description: 'silence of a source after which an encoder warns of it',
  }),
  tone_s: Type.Integer({
    default: 600,
    minimum: 1,
    maximum: 86_400,
    unit: 's',
    description: 'how long a tone that was asked for goes out in place of the source',
  }),
  tone_db: Type.Integer({
    default: -20,
    minimum: -60,
    maximum: 0,
    unit: 'dB',
    description: 'peak of the tone of 997 Hz, below full scale',
  }),
}

/** @returns why the second group will not do; undefined where it will, or there is none */
export function secondGroupFault(second: string, first: string): string | undefined {
  if (second === '') return undefined
  return second === first ? `${second} is the group of the stream itself. Take another one.` : groupFault(second)
}
