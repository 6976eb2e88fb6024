import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { MODEL, noEyes, noPlateModels, startEyes } from './eyes-stage.ts'
import { noPlates, plateOf, platePicture } from './plate-pictures.ts'
import { judgeBoxes, picturesOf, SCENE_NUMBERS, streetFilm } from './street-film.ts'

const GREY = { width: 64, height: 36, rgb: new Uint8Array(64 * 36 * 3).fill(90) }

const film = noEyes ? undefined : streetFilm()
const noFilm = film === undefined && 'opencv-doc, which has the film, is not installed and cannot be fetched'

t.test('A.seeing the model sees who is in the street, and who is not', { skip: noEyes || noFilm }, async (t) => {
  const eyes = startEyes()
  const ready = await eyes.said()
  t.match(ready, { kind: 'ready', protocol: 1, name: 'plantroom-eyes, nanodet-g', width: 416, height: 416 })
  t.ok((ready.labels as string[]).includes('person') && (ready.labels as string[]).includes('car'))
  const told = []
  for (const rgb of picturesOf(film ?? '', SCENE_NUMBERS, 416, 312)) {
    const answer = await eyes.look({ width: 416, height: 312, rgb })
    t.match(answer, { kind: 'boxes', id: told.length + 1, took_ms: Number })
    told.push(answer.boxes as [])
  }
  const found = judgeBoxes(told, 0.4)
  t.comment(JSON.stringify(found))
  t.equal(found.persons, 53)
  t.ok(found.personsFound >= 0.9 * found.persons, `${found.personsFound} persons of ${found.persons}`)
  t.ok(found.false.length <= 1, `at most one false in ten pictures: ${found.false}`)
  t.equal(found.vehiclesFound, found.vehicles, 'all vehicles')
  t.equal(await eyes.end(), 0)
  t.equal(eyes.complaints(), '')
})

t.test('A.events plates are read in pictures of vehicles', { skip: noEyes || noPlateModels || noPlates }, async (t) => {
  const eyes = startEyes()
  t.match(await eyes.said(), { kind: 'ready', recognises: ['plate'] })
  const plain = (text: string) => text.replace(/[^A-Z0-9]/g, '')
  for (const [width, least] of [
    [90, 12],
    [120, 14],
  ] as const) {
    let right = 0
    for (let number = 0; number < 16; number++) {
      const plate = plateOf(number)
      const answer = await eyes.recognise(platePicture(plate, width, number))
      t.match(answer, { kind: 'recognised', took_ms: Number })
      const [best] = answer.plates as { text: string; confidence: number; box: number[] }[]
      if (best && plain(best.text) === plain(plate)) right++
    }
    t.comment(`${right} of 16 plates of ${width} pixels`)
    t.ok(right >= least, `${right} of 16 plates of ${width} pixels, at least ${least}`)
  }
  t.match(await eyes.recognise(GREY), { kind: 'recognised', plates: [] })
  t.match(await eyes.recognise({ ...GREY, height: 35 }), { kind: 'failed', why: /64 x 35/ })
  t.match(await eyes.recognise(platePicture('PARCEL', 120, 1)), { plates: [] }, 'a word without a digit is no plate')
  const slim = await eyes.recognise({ width: 36, height: 1080, rgb: new Uint8Array(36 * 1080 * 3) })
  t.match(slim, { kind: 'recognised', plates: [] })
  t.equal(await eyes.end(), 0)
  t.equal(eyes.complaints(), '')
})

t.test('a picture that is none is refused, and the next one is looked at', { skip: noEyes }, async (t) => {
  const eyes = startEyes()
  t.match(await eyes.said(), { kind: 'ready' })
  eyes.tell({ kind: 'a question of another year' }, new Uint8Array(5))
  t.match(await eyes.look({ ...GREY, height: 37 }), { kind: 'failed', id: 1, why: /64 x 37/ })
  t.match(await eyes.look(GREY, { format: 'jpeg' }), { kind: 'failed', id: 2, why: /rgb24/ })
  t.match(await eyes.look({ width: 0, height: 0, rgb: new Uint8Array() }), { kind: 'failed', id: 3 })
  t.match(await eyes.look(GREY), { kind: 'boxes', id: 4, boxes: [] })
  t.match(await eyes.look({ width: 36, height: 64, rgb: GREY.rgb }), { kind: 'boxes', id: 5 })
  const sizes = await eyes.look({ width: 1920, height: 1080, rgb: new Uint8Array(1920 * 1080 * 3) })
  t.match(sizes, { kind: 'boxes', id: 6 }, 'one that is larger than it asked for')
  t.equal(await eyes.end(), 0)
})

t.test('a model that cannot be used is said in a sentence', { skip: noEyes }, async (t) => {
  const folder = t.testdir()
  const path = join(folder, 'manifest.json')
  const good = JSON.parse(readFileSync(join(MODEL, 'manifest.json'), 'utf8'))
  const model = readFileSync(join(MODEL, good.file))
  const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex')
  async function refused(manifest: object | string, file: Uint8Array, why: RegExp) {
    writeFileSync(path, typeof manifest === 'string' ? manifest : JSON.stringify(manifest))
    writeFileSync(join(folder, good.file), file)
    const eyes = startEyes(path)
    t.match(await eyes.said(), { kind: 'fault', why })
    t.equal(await eyes.over, 1)
  }
  const cut = model.subarray(0, 100_000)
  await refused('{', model, /it is not JSON/)
  await refused({ ...good, file: 'other.onnx' }, model, /other.onnx cannot be read: ENOENT.*Install plantroom-detector/)
  await refused(good, cut, /is not the model of its manifest: its SHA-256 is/)
  await refused({ ...good, sha256: sha256(cut) }, cut, /./)
  await refused({ ...good, labels: ['person'] }, model, /does not fit its manifest: its scores are/)
  await refused({ ...good, decoder: 'yolov8', outputs: ['scores'] }, model, /does not fit its manifest/)
  await refused({ ...good, outputs: ['scores', 'nothing'] }, model, /gives no numbers as 'nothing'/)
  await refused({ ...good, input: { ...good.input, layout: 'nchw-float32' } }, model, /./)
})
