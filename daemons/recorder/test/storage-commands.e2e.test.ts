/** plantroom recorder check, rebuild and export, on the state of a recorder that is stopped. */
import { execFile } from 'node:child_process'
import {
  appendFileSync,
  copyFileSync,
  globSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { silentLog } from '#kit/log.ts'
import { startDaemon, stateFolderOf } from '#kit/test/running-daemon.ts'
import { openCameras } from '../io/state-files.ts'
import type { Mask } from '../wire/mask.ts'
import { scanMp4 } from '../wire/mp4-read.ts'
import { openStage, record } from './footage-stage.ts'

const work = stateFolderOf(t)
const stateFolder = join(work, 'state')
const camera = 'aaaaaaaa'
const BEGIN = Date.parse('2026-03-09T14:05:00Z')

const command = join(import.meta.dirname, '../../../build/plantroom')

function run(...words: string[]): Promise<{ code: number; out: string; error: string }> {
  const args = ['recorder', ...words, '--state', stateFolder, '--set', 'storage.free_bytes=0']
  return new Promise((done) => {
    execFile(command, args, (failed, out, error) => done({ code: failed ? Number(failed.code) : 0, out, error }))
  })
}

mkdirSync(stateFolder)
const past = await openStage(t, { root: join(work, 'past'), folders: [`${stateFolder}-footage`] })
for (const minute of [0, 1, 2, 3]) record(past, camera, BEGIN + minute * 60_000, 60).close()
await past.footage.close()
const paths = globSync(`${stateFolder}-footage/*/*/*.mp4`).toSorted()

t.test('check tells what is not as the index has it, and rebuild makes it right', async (t) => {
  t.match(await run('check'), { code: 1, error: /There is no index/ })
  t.match(await run('rebuild'), { code: 0, out: /bytes of footage/ })
  t.match(await run('check'), { code: 0, out: /4 files, \d+ bytes, all as in the index/ })

  const [broken = '', gone = '', kept = ''] = paths
  const whole = statSync(broken).size
  appendFileSync(broken, new Uint8Array(99))
  rmSync(gone)
  const stray = join(dirname(kept), '1.mp4')
  copyFileSync(kept, stray)
  const empty = join(dirname(kept), '2.mp4')
  writeFileSync(empty, 'nothing')
  const outside = join(work, 'outside.mp4')
  writeFileSync(outside, 'not ours')
  symlinkSync(outside, join(dirname(kept), '3.mp4'))
  const checked = await run('check')
  t.equal(checked.code, 1)
  for (const what of [/broken end/, /gone/, /1\.mp4: not in the index/, /2\.mp4: nothing whole/])
    t.match(checked.out, what)
  t.equal(statSync(broken).size, whole + 99, 'and changes nothing')

  t.equal((await run('rebuild')).code, 0)
  t.equal(statSync(broken).size, whole)
  t.notOk(globSync(empty).length)
  t.equal(readFileSync(outside, 'utf8'), 'not ours')
  t.ok(lstatSync(join(dirname(kept), '3.mp4')).isSymbolicLink(), 'a link is left alone')
  rmSync(stray)
  t.equal((await run('rebuild')).code, 0)
  t.match(await run('check'), { code: 0, out: /3 files/ })

  const index = `${stateFolder}-index/footage.db`
  const sound = readFileSync(index)
  writeFileSync(index, Buffer.from(sound).fill(0xa5, 4096, 8192))
  t.match(await run('check'), {
    code: 1,
    error: /The index of the footage is damaged\. At its next start the recorder/,
  })
  t.same(globSync(`${index}.damaged*`), [], 'it is left where it was')
  writeFileSync(index, sound)
})

t.test('export writes a stretch as one file, and the journal has it', async (t) => {
  const file = join(work, 'taken.mp4')
  const from = '2026-03-09T14:07:30Z'
  const done = await run('export', camera, from, String(BEGIN + 210_000), file)
  t.match(done, { code: 0, out: /60 groups up to 2026-03-09T14:08:29/ })
  const bytes = readFileSync(file)
  t.equal(scanMp4((at, length) => bytes.subarray(at, at + length), bytes.length).fragments.length, 60)
  t.match(readFileSync(join(stateFolder, 'journal.jsonl'), 'utf8'), /footage taken out.*taken\.mp4/)
  t.match(await run('export', camera, '5', '6', file), { code: 2, error: /No footage is kept/ })
  t.match(await run('export', camera, '6', '5', file), { code: 2, error: /not after/ })
  t.match(await run('export', camera, 'noon', '5', file), { code: 2, error: /is no time/ })
  t.match(await run('export', 'Door', '5', '6', file), { code: 2, error: /There is no camera "Door"/ })
  const { save } = await openCameras(stateFolder, silentLog)
  const masks: Mask[] = [
    [
      [0, 0],
      [1, 0],
      [1, 1],
    ],
  ]
  const none = { cameraEvents: false, outputs: null, talkback: null }
  const login = { username: null, password: null, subUrl: null, onvif: null, ...none }
  const place = { url: 'rtsp://127.0.0.1:1/none', mode: 'record', audio: false, transport: 'tcp' } as const
  await save([{ id: camera, name: 'Door', enabled: false, masks, ...login, ...place }])
  t.match(await run('export', 'Door', from, String(BEGIN + 210_000), file), {
    code: 2,
    error: /Door has privacy masks/,
  })
  await save([])
  t.equal(readFileSync(file).length, bytes.length, 'what was there stays where nothing is taken out')
})

t.test('while the recorder runs nobody else touches its footage', async (t) => {
  await startDaemon(t, 'recorder', { stateFolder, sets: ['storage.free_bytes=0'] })
  for (const words of [['check'], ['rebuild'], ['export', camera, '5', '6', join(work, 'none.mp4')]])
    t.match(await run(...words), { code: 1, error: /is in use by a daemon that runs/ })
})
