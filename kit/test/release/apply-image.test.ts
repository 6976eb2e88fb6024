/** A board's images: whatever is killed, refused or comes back, one image is installed once, and the server knows what came of it. */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { applyImage, checkForImage, settleImage } from '../../release/apply-image.ts'
import type { ImageSettings } from '../../release/update-settings.ts'
import { imagePartsAt, publishImage, stageBoard, trust } from './image-stage.ts'
import { killable } from './update-kills.ts'
import { publish, publisher, readState, stageServer } from './update-stage.ts'

/** Names of sockets have at most 107 bytes. */
function shortFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'image-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

async function stage(t: Test, folder = shortFolder(t)) {
  const people = publisher()
  const server = await stageServer(t)
  mkdirSync(join(folder, 'state'), { recursive: true })
  trust(folder, people)
  const board = await stageBoard(t, join(folder, 'ota.sock'))
  const state = join(folder, 'state')
  const calls: string[] = []
  return {
    ...{ board, calls, folder, people, server, state },
    parts: (image: Partial<ImageSettings> = {}, probationMs = 0) =>
      imagePartsAt(folder, server.url, { image, probationMs, calls }),
    offer: (version: string) => {
      server.offered = publishImage(people, version)
    },
    left: () => readdirSync(state).filter((name) => name.endsWith('.part')),
    journal: (more: object) =>
      writeFileSync(
        join(state, 'image.json'),
        JSON.stringify({
          ...{ phase: 'installed', version: '2.0.0', checksum: 'a'.repeat(64), from_version: '1.0.0' },
          ...{ run: board.run, tries: 1, daemons: [], backup: null, ...more },
        }),
      ),
    phase: () =>
      existsSync(join(state, 'image.json')) ? (readState(state, 'image.json') as { phase: string }).phase : '',
  }
}

t.test('what the server is asked, and what it is told afterwards', async (t) => {
  const { board, offer, parts, left, phase, server } = await stage(t)
  t.match(await checkForImage(parts()), { outcome: 'current', version: '1.0.0' })
  offer('2.0.0')
  t.match(await checkForImage(parts()), { outcome: 'available', version: '2.0.0', from: '1.0.0' })
  t.match(await applyImage(parts()), { outcome: 'applied', version: '2.0.0', from: '1.0.0' })
  t.same([board.installs, left(), phase()], [['2.0.0'], [], 'applied'])
  t.match(await applyImage(parts()), { outcome: 'current', version: '2.0.0' })
  const asked = { kind: 'image', compatible: 'panel', arch: 'arm64', channel: 'stable' }
  t.match(server.checks, [asked, asked, asked, { ...asked, version: '2.0.0', facts: { applied: '2.0.0' } }])
})

t.test('only an image that was signed as one, for this kind of board, is taken', async (t) => {
  const { board, parts, people, server } = await stage(t)
  server.offered = publishImage(people, '2.0.0', { kind: 'update' })
  await t.rejects(applyImage(parts()), { code: 'release_untrusted' })
  server.offered = publishImage(publisher(), '2.0.0')
  await t.rejects(applyImage(parts()), { code: /root_|release_/ })
  server.offered = publishImage(people, '2.0.0', { compatible: 'beamer' })
  await t.rejects(applyImage(parts()), { code: 'update_server_wrong', message: /no image for panel/ })
  // It says that it is for this board, and its record that it is not.
  server.offered.offer = { ...server.offered.offer, compatible: 'panel' }
  await t.rejects(applyImage(parts()), { code: 'release_wrong_board' })
  server.offered = publish(people, '2.0.0')
  await t.rejects(applyImage(parts()), { code: 'update_server_wrong' }, 'an older server offers updates')
  server.offered = publishImage(people, '2.0.0')
  await t.rejects(applyImage(parts({ image_bytes: 1000 })), {
    code: 'archive_too_large',
    message: /image\.image_bytes/,
  })
  t.same([board.installs, server.pulls], [[], []])
})

t.test('what was handed over is judged by what runs', async (t) => {
  const { board, journal, parts, phase, state } = await stage(t)
  const same = 'same run'
  const rows: [phase: string, tries: number, runs: string, how: string, outcome: string | undefined, then: string][] = [
    ['fetching', 0, '1.0.0', same, undefined, 'fetching'],
    ['installing', 1, '1.0.0', same, undefined, 'fetching'],
    ['installing', 1, '1.0.0', 'restarted', undefined, 'fetching'],
    ['installing', 3, '1.0.0', 'restarted', 'rolled_back', ''],
    ['installing', 1, '1.5.0', 'restarted', 'rolled_back', ''],
    ['installing', 1, '2.0.0', 'restarted', 'applied', 'applied'],
    ['installed', 1, '1.0.0', 'restarted', 'rolled_back', ''],
    ['installed', 1, '2.0.0', 'restarted', 'applied', 'applied'],
    ['applied', 1, '2.0.0', 'restarted', undefined, 'applied'],
    ['applied', 1, '1.0.0', 'restarted', 'rolled_back', ''],
    ['applied', 1, '3.0.0', 'restarted', undefined, ''],
  ]
  for (const [before, tries, runs, how, outcome, then] of rows) {
    board.runs = runs
    journal({ phase: before, tries, ...(how !== same && { run: 'the run before' }) })
    const what = `${before}, ${tries} tries, ${runs} runs, ${how}`
    t.equal((await settleImage(parts()))?.outcome, outcome, what)
    t.equal(phase(), then, what)
  }
  t.match(readState(state, 'history.json'), { bad: [{ version: '2.0.0' }], report: { rolled_back: '2.0.0' } })
})

t.test('one of which nobody knows whether it was installed is handed over again, so often and no more', async (t) => {
  const { board, offer, parts, server } = await stage(t)
  offer('2.0.0')
  // The power fails each time before it answers, and the image does not come to run.
  board.takes = () => {
    board.restarts('1.0.0')
    return undefined
  }
  for (let times = 0; times < 3; times++) await t.rejects(applyImage(parts()), { code: 'image_board_silent' })
  t.match(await applyImage(parts()), { outcome: 'rolled_back', reason: /handed to the board 3 times/ })
  t.match(await applyImage(parts()), { outcome: 'bad', version: '2.0.0' })
  t.same(board.installs, ['2.0.0', '2.0.0', '2.0.0'])
  t.equal(server.pulls.length, 1, 'it was downloaded once')
})

t.test('the states are kept before, and put back where the image did not come to run', async (t) => {
  const { board, calls, offer, parts } = await stage(t)
  offer('2.0.0')
  board.takes = () => {
    setImmediate(() => board.restarts('1.0.0'))
    return { status: 200, body: {} }
  }
  t.match(await applyImage(parts()), { outcome: 'rolled_back', to: '1.0.0' })
  t.same(calls, ['backup board 1.0.0 2.0.0', 'restore /backups/one board', 'restart board'])
  offer('2.1.0')
  board.takes = (version) => {
    setImmediate(() => board.restarts(version))
    return { status: 200, body: {} }
  }
  t.match(await applyImage(parts()), { outcome: 'applied' })
  board.restarts('1.0.0')
  t.match(await applyImage(parts()), { outcome: 'rolled_back' }, 'somebody went back from it')
  t.same(calls.slice(3), ['backup board 1.0.0 2.1.0'], 'what was saved since stays')
})

t.test('a board that ends again and again within the probation has not proven its image', async (t) => {
  const { board, journal, parts, phase } = await stage(t)
  journal({ run: 'the run before' })
  board.runs = '2.0.0'
  const ends = setInterval(() => {
    board.start = `${Math.random()}`
  }, 1)
  t.teardown(() => clearInterval(ends))
  await t.rejects(settleImage(parts({ restart_ms: 100 }, 200)), { code: 'image_board_silent' })
  t.equal(phase(), 'installed', 'it is seen to its end the next time')
  clearInterval(ends)
  t.match(await settleImage(parts({}, 20)), { outcome: 'applied' })
})

t.test('refusals that hold for ever are told from those that somebody can mend', async (t) => {
  const { board, offer, parts, left, state } = await stage(t)
  const rows: [code: string, isForGood: boolean, part: string[]][] = [
    ['image_untrusted', false, ['download.part']],
    ['image_not_installed', false, ['download.part']],
    ['image_no_room', false, []],
    ['image_wrong_board', true, []],
    ['image_too_old', true, []],
    ['image_damaged', true, []],
    ['image_unknown', true, []],
    ['image_length', true, []],
  ]
  for (const [at, [error, isForGood, part]] of rows.entries()) {
    const version = `2.0.${at}`
    offer(version)
    board.takes = () => ({ status: 422, body: { error, message: `${error}\u001b is why` } })
    await t.rejects(applyImage(parts()), { code: 'image_refused', message: /is why/ }, error)
    t.same(left(), part, error)
    t.match(readState(state, 'history.json'), { report: { failed: version, failed_step: 'install' } })
    t.equal((await checkForImage(parts())).outcome, isForGood ? 'bad' : 'available', error)
  }
})

t.test('a board that is busy, or lacks something, puts it off before anything is downloaded', async (t) => {
  const { board, offer, parts, server, state } = await stage(t)
  offer('2.0.0')
  for (const busy of ['receiving', 'verifying', 'installing', 'installed'] as const) {
    board.state = busy
    await t.rejects(applyImage(parts()), { code: 'update_put_off' }, busy)
  }
  board.state = 'failed'
  board.missing = { code: 'ota_not_set_up', message: 'this board knows no key' }
  await t.rejects(applyImage(parts()), { code: 'image_not_taken', message: 'this board knows no key' })
  t.equal(server.pulls.length, 0)
  board.missing = null
  board.compatible = 'toaster'
  await t.rejects(applyImage(parts()), { code: 'image_not_taken', message: /toaster.*panel/ })
  board.compatible = 'panel'
  // Somebody was faster.
  board.takes = () => ({ status: 422, body: { error: 'ota_busy', message: 'one at a time' } })
  await t.rejects(applyImage(parts()), { code: 'update_put_off' })
  t.notOk(
    existsSync(join(state, 'history.json')) && JSON.stringify(readState(state, 'history.json')).includes('failed'),
  )
})

t.test('whatever answers in the place of a board is told, and nothing is believed', async (t) => {
  const { board, folder, parts } = await stage(t)
  for (const odd of [{ runs: 'new' }, { run: '' }, { run: 'x'.repeat(65) }, { state: 'well' }, { missing: 'no' }]) {
    const before = { ...board }
    Object.assign(board, odd)
    await t.rejects(checkForImage(parts()), { code: 'image_board_silent' }, JSON.stringify(odd))
    Object.assign(board, before)
  }
  await t.rejects(checkForImage(parts({ socket: join(folder, 'nowhere.sock') })), { code: 'image_board_silent' })
  writeFileSync(join(folder, 'state/image.json'), '{"phase":"any"}')
  await t.rejects(checkForImage(parts()), { code: 'update_memory_damaged' })
})

t.test('one that is killed at any change of the disk, and run again, installs once', async (t) => {
  const work = shortFolder(t)
  const start = await killable(work, 'image-child.ts')
  for (let n = 1, isKilled = true; isKilled; n += 3) {
    const folder = join(work, String(n))
    mkdirSync(folder)
    const { board, offer, left, phase, server } = await stage(t, folder)
    offer('2.0.0')
    isKilled = (await start([folder, server.url], { KILL_AT: String(n) })) === undefined
    const said = isKilled ? await start([folder, server.url], { KILL_AT: '0' }) : undefined
    if (said) t.match(said.outcome, /^(applied|current)$/, `killed at ${n}: ${JSON.stringify(said)}`)
    t.same([board.installs, board.runs, left(), phase()], [['2.0.0'], '2.0.0', [], 'applied'], `killed at ${n}`)
  }
})
