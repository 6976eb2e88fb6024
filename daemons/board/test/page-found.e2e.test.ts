/** The matrix in a real browser, over two real boards that found each other. */
import t, { type Test } from 'tap'
import { noBrowser, openRig, play, type Rig } from '#kit/test/web/page-rig.ts'
import { type RunningBoard, setUp, startBoard } from './running-board.ts'

const PASSWORD = 'ladder and torch'

interface Stage extends Rig {
  there: RunningBoard
  /** The name of the other board: other boards on this machine can be found too. */
  name: string
}

t.test('B.peers B.auth.2 the matrix over two boards', { skip: noBrowser }, async (t) => {
  const name = `Till ${process.pid}`
  const [here, there] = await Promise.all([startBoard(t), startBoard(t)])
  await Promise.all([setUp(here), setUp(there, { name })])
  for (const board of [here, there]) await board.post('/api/password', { password: PASSWORD })
  const basic = { username: 'admin', password: PASSWORD }
  const rig = await openRig(t, `${here.url}/matrix`, { basic, wanted: /net::ERR_|WebSocket|CORS|blocked/ })
  rig.page.context().setDefaultTimeout(30_000)
  await play<Stage>(t, { ...rig, there, name }, [
    ['shows the other board with its own claims, and a link to it', shows],
    ['asks for its password when it has another one, and asks it again with that', unlocks],
    ['keeps it as gone once it is, and takes it from the list when it is dismissed', goes],
  ])
})

async function shows(t: Test, { page, there, name, audit, strangers }: Stage): Promise<void> {
  const row = page.locator('.boards tr', { hasText: name })
  await row.getByText('No serial device is named.').waitFor()
  t.match(await row.getByRole('link').getAttribute('href'), new RegExp(`:${new URL(there.url).port}/$`))
  await audit(t, 'matrix-found', 'unpictured')
  t.ok(
    strangers.some((url) => url.endsWith('/api/status')),
    'asked by the browser itself',
  )
  strangers.length = 0
}

async function unlocks(_t: Test, { page, there, name, strangers }: Stage): Promise<void> {
  await there.post('/api/password', { password: 'another one' }, PASSWORD)
  const row = page.locator('.boards tr', { hasText: name })
  await row.getByText('It has another password than this board.').waitFor()
  await row.locator('input').fill('another one')
  await row.getByRole('button', { name: 'Ask again' }).click()
  await row.getByText('No serial device is named.').waitFor()
  strangers.length = 0
}

async function goes(t: Test, { page, there, name, strangers }: Stage): Promise<void> {
  await there.stop('SIGKILL')
  const row = page.locator('.boards tr', { hasText: name })
  await row.getByText('No serial device is named.').waitFor({ state: 'detached' })
  const gone = page.locator('.boards tr.stale', { hasText: name })
  await gone.getByText(/Gone since \d\d:\d\d.* It stays listed until it answers or is dismissed\./).waitFor()
  strangers.length = 0
  await page.getByRole('button', { name: `Dismiss ${name}` }).click()
  await page.getByText(`${name} is dismissed.`).waitFor()
  await row.waitFor({ state: 'detached' })
  const { port } = new URL(there.url)
  t.same(
    strangers.filter((url) => new URL(url).port === port),
    [],
    'a board that is gone is no longer asked by the browser',
  )
  strangers.length = 0
}
