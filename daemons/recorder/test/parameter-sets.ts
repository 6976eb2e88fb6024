/** Parameter sets of real encoders: x264 and x265, 320 x 240, 15 a second; and a kind of sound. */
import { h264 } from '../wire/h264.ts'
import { h265 } from '../wire/h265.ts'
import type { ParameterSets } from '../wire/pictures.ts'
import type { SoundFormat } from '../wire/sound.ts'

export const bytesOf = (hex: string) => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'))

export const h264Sets: ParameterSets = {
  codec: h264,
  units: ['6764000cacb40a0fd80880000003008000000f478a1550', '68ef0fcb'].map(bytesOf),
}

export const h265Sets: ParameterSets = {
  codec: h265,
  units: [
    '40010c01ffff01600000030090000003000003003c959809',
    '42010101600000030090000003000003003ca00a080f165959a4932bc05a020000030002000003001e10',
    '4401c172b46240',
  ].map(bytesOf),
}

export const alaw: SoundFormat = {
  entry: 'alaw',
  codec: 'alaw',
  rate: 8000,
  channels: 1,
  frameTicks: 0,
  config: new Uint8Array(0),
}
