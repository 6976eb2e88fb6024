/**
 * Cameras for a measurement, in a process of their own: one H.264 file under every path, from its beginning and round again.
 * Started with fork: tells `{port}`, and once told `halt`, sends no more and tells `{sent}`, the pictures sent to all.
 *
 *     node scripts/bench/cameras.ts FILE PICTURES_PER_SECOND
 *
 * FILE is a byte stream with an access unit delimiter before each picture, and a key frame first.
 */
import { readFileSync } from 'node:fs'
import { readUnits } from '../../daemons/recorder/wire/annex-b.ts'
import { startCameras } from '../sim/rtsp-cameras.ts'

const DELIMITER = 9

function picturesOf(file: Uint8Array): Uint8Array[][] {
  const pictures: Uint8Array[][] = []
  for (const unit of readUnits(file)) {
    if (((unit[0] ?? 0) & 0x1f) === DELIMITER) pictures.push([])
    else pictures.at(-1)?.push(unit)
  }
  return pictures
}

const [file = '', rate = '15'] = process.argv.slice(2)
const pictures = picturesOf(readFileSync(file))
const cameras = await startCameras({
  picturesPerS: Number(rate),
  film() {
    let count = 0
    return () => pictures[count++ % pictures.length] ?? []
  },
})
process.send?.({ port: cameras.port })
process.on('message', () => process.send?.({ sent: cameras.halt() }))
process.on('disconnect', () => process.exit())
