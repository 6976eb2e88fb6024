/** Firmware images from the publisher to the board, all as built: what was published runs there, and nothing else ever does. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { t } from 'tap'
import { until } from '#kit/test/until.ts'
import { send } from '../../../daemons/board/test/ota-rig.ts'
import { boardStage, WORKS } from './board-stage.ts'

t.test(
  'docs/board.md: an image that is published runs on the board after the update, and the server is told',
  async (t) => {
    const { board, installed, known, left, path, publish, slot, update } = await boardStage(t)
    t.match(await update(), { code: 0, out: '[UPDATE] already current, nothing to do\n' })
    t.match(await publish('2.0.0', { words: ['--floor', '1.5.0'] }), { code: 0 })
    t.match(await publish('3.0.0', { compatible: 'beamer' }), { code: 0 })
    t.match(await update('--check'), { code: 4, out: /2\.0\.0 is there, and 1\.0\.0 runs/ })
    const said = await update('--yes')
    t.match(said, {
      code: 0,
      err: '',
      out: /2\.0\.0 is handed to the board\n.*\[UPDATE\] 2\.0\.0 runs, in the place of 1\.0\.0\n$/s,
    })
    t.same([slot(), installed(), left()], ['2.0.0', ['2.0.0'], []])
    t.match((await board.get('/api/status')).body, { last_start: { reason: 'ota' }, ota: { state: 'idle' } })
    t.match(
      JSON.parse(readFileSync(path('state/firmware.json'), 'utf8')),
      { floor: '1.5.0' },
      'the board keeps the floor',
    )
    t.match(await update('--yes'), { code: 0, out: /already current/ })
    t.match(await known(), {
      compatible: 'panel',
      version: '2.0.0',
      updates: [{ version: '2.0.0', outcome: 'applied' }],
    })
    t.match((await board.get('/api/journal')).body[0], { who: 'plantroom update', what: 'firmware installed' })
    t.match(await update('--settle'), { code: 0, out: /nothing to do/ })
    t.equal(statSync(path('ota.sock')).mode & 0o777, 0o600, 'nobody else reaches the installer')
  },
)

t.test(
  'docs/board.md: what the board refuses stays out of it, and what no key can mend is not tried again',
  async (t) => {
    const { board, installed, known, left, publish, slot, update } = await boardStage(t, { sets: ['ota.floor=1.0.0'] })
    t.match(await publish('2.0.0', { key: 'stranger' }), { code: 0 })
    t.match(await update('--yes'), { code: 1, err: /signed by none of the keys that this board knows/ })
    t.match(await update('--yes'), { code: 1, err: /signed by none/ }, 'a key may be added: it is tried again')
    t.match((await known()).updates, [
      { version: '2.0.0', outcome: 'failed', step: 'install', reason: /none of the keys/ },
    ])
    t.match(await publish('2.1.0', { words: ['--floor', '2.1.0'] }), { code: 0 })
    t.match(await update('--yes'), { code: 0 })
    t.match((await board.get('/api/status')).body, { last_start: { reason: 'ota' } })
    t.same([slot(), installed(), left()], ['2.1.0', ['2.1.0'], []])
  },
)

t.test('docs/board.md: an image below the floor is refused, and stays so', async (t) => {
  const { installed, left, publish, slot, update } = await boardStage(t, { sets: ['ota.floor=3.0.0'] })
  await publish('2.0.0')
  t.match(await update('--yes'), { code: 1, err: /the image has version 2\.0\.0, this board takes 3\.0\.0 and later/ })
  t.match(await update('--yes'), { code: 4, out: /2\.0\.0 is there, and is not tried again: .*3\.0\.0 and later/ })
  t.same([slot(), installed(), left()], ['1.0.0', [], []])
})

t.test(
  'docs/board.md: a board that is of another kind than its updater asks for is told, and asks nothing',
  async (t) => {
    const { installed, left, publish, slot, update } = await boardStage(t, { sets: ['ota.compatible=toaster'] })
    await publish('2.0.0')
    for (const word of ['--yes', '--check'])
      t.match(await update(word), {
        code: 1,
        err: /takes images for toaster .* image\.compatible of update\.toml says panel/,
      })
    t.same([slot(), installed(), left()], ['1.0.0', [], []])
  },
)

t.test(
  'docs/board.md: a board that comes back with the one before has rolled back, is told of, and left alone',
  async (t) => {
    const { installed, installs, known, left, publish, slot, update } = await boardStage(t)
    installs('')
    await publish('2.0.0')
    t.match(await update('--yes', '--json'), {
      code: 1,
      out: /"outcome":"rolled_back","version":"2\.0\.0","to":"1\.0\.0"/,
      err: /the board was to start 2\.0\.0, and came back with 1\.0\.0/,
    })
    t.match(
      await update('--yes'),
      { code: 0, out: /already current/ },
      'the server is told first, and offers it no more',
    )
    t.match((await known()).updates, [{ version: '2.0.0', outcome: 'rolled_back', reason: /came back with 1\.0\.0/ }])
    t.same([slot(), installed(), left()], ['1.0.0', ['2.0.0'], []])
    installs(WORKS)
    await publish('2.0.1')
    t.match(await update('--yes'), { code: 0 })
    t.equal(slot(), '2.0.1')
  },
)

t.test('docs/board.md: one that somebody went back from later is not installed again', async (t) => {
  const { board, installed, known, path, publish, update } = await boardStage(t)
  await publish('2.0.0')
  t.match(await update('--yes'), { code: 0 })
  t.match(await update('--check'), { code: 0 }, 'it is told that it was applied')
  writeFileSync(path('slot'), 'IMAGE_VERSION=1.0.0\n')
  const { at } = (await board.get('/api/status')).body.last_start
  await board.post('/api/reboot')
  await until('the board is back', async () => {
    const answer = await board.get('/api/status').catch(() => undefined)
    return answer !== undefined && answer.body.last_start.at !== at
  })
  t.match(await update('--yes'), { code: 1, out: /2\.0\.0 had run, and the board went back to 1\.0\.0/ })
  t.match(await update('--yes'), { code: 0, out: /already current/ })
  t.match((await known()).updates, [{ version: '2.0.0', outcome: 'rolled_back' }])
  t.same(installed(), ['2.0.0'])
})

t.test(
  'docs/board.md: an update that is killed while the board installs is seen to its end, and installs once',
  async (t) => {
    const { begin, installed, installs, left, path, publish, slot, update } = await boardStage(t)
    installs(`while [ ! -e ${path('go')} ]; do sleep 0.05; done\n${WORKS}`)
    await publish('2.0.0')
    const { child, said } = begin('--yes')
    await until('it installs', () => installed().length === 1)
    t.match(await update('--yes'), { code: 1, err: /an update is running already/ })
    child.kill('SIGKILL')
    await said
    const settled = begin('--settle')
    writeFileSync(path('go'), '')
    t.match(await settled.said, { code: 0, out: /2\.0\.0 runs, in the place of 1\.0\.0\n$/ })
    t.same([slot(), installed(), left()], ['2.0.0', ['2.0.0'], []])
    t.match(await update('--settle'), { code: 0, out: /no update was cut off/ })
  },
)

t.test('docs/board.md: while an image is uploaded none is brought, and the other way round', async (t) => {
  const { begin, board, installed, installs, known, path, publish, update } = await boardStage(t)
  await publish('2.0.0')
  const image = readFileSync(path('panel-2.0.0.img'))
  installs(`while [ ! -e ${path('go')} ]; do sleep 0.05; done\n${WORKS}`)
  const sent = send(board.url, image)
  await until('it installs', () => installed().length === 1)
  t.match(await update('--yes'), { code: 1, err: /the board takes another image just now: nothing was changed/ })
  t.same((await known()).updates, [], 'no failure of the image')
  writeFileSync(path('go'), '')
  t.match(await sent, { status: 200 })
  await until('it runs', async () => (await update()).out.includes('already current'))

  await publish('2.1.0')
  installs(`while [ ! -e ${path('go on')} ]; do sleep 0.05; done\n${WORKS}`)
  const { said } = begin('--yes')
  await until('it installs', () => installed().length === 2)
  t.match(await send(board.url, image), { status: 409, body: { error: 'ota_busy' } })
  writeFileSync(path('go on'), '')
  t.match(await said, { code: 0 })
  t.same(installed(), ['2.0.0', '2.1.0'])
})

t.test(
  'docs/board.md: a board that does not run, or takes no image, is told before anything is downloaded',
  async (t) => {
    const { board, left, publish, update } = await boardStage(t, { sets: ['ota.command=[]'] })
    await publish('2.0.0')
    t.match(await update('--yes'), { code: 1, err: /ota\.command names no program to install it/ })
    t.same(left(), [])
    await board.stop()
    t.match(await update(), { code: 1, err: /the board does not answer at .*ota\.sock/ })
  },
)
