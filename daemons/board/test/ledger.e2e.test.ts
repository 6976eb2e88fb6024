/** The ledger of the real board: a serial line that is pulled, in the API, the log, the status and on its page. */
import t from 'tap'
import type { LedgerEntry } from '#kit/records/ledger-entry.ts'
import { plugIn } from '#kit/test/line/named-pty.ts'
import { until } from '#kit/test/until.ts'
import { noBrowser, openRig } from '#kit/test/web/page-rig.ts'
import { setUp, startBoard } from './running-board.ts'

const device = plugIn('board-ledger')
t.teardown(() => device.unplug())
const sets = [
  'mdns.enabled=false',
  `serial.devices=${JSON.stringify([device.path])}`,
  'serial.retry_first_ms=50',
  'serial.retry_max_ms=100',
  'ledger.hold_ms=100',
]
const board = await startBoard(t, { sets })
await setUp(board)

async function list(query = ''): Promise<LedgerEntry[]> {
  return (await board.get(`/api/ledger?where=port&${query}`)).body.entries
}

t.test('a serial line that is pulled is an entry until it is back', async (t) => {
  t.match(await board.post('/api/serial', { port: '1', enabled: '1', mode: 'raw', tcp_port: '0' }), { status: 400 })
  const form = { port: '1', enabled: '1', mode: 'raw', tcp_port: String(20_000 + (process.pid % 20_000)) }
  t.match(await board.post('/api/serial', form), { status: 200 })
  t.same(await list(), [])
  await device.unplug()
  await until('the line is lost', async () => (await list('open=true')).length === 1)
  const [entry] = await list('open=true')
  t.match(entry, { what: 'line_absent', where: `port 1 ${device.path}`, severity: 'fault', until: null, count: 1 })
  t.match((await board.get('/api/status')).body.ledger.open, { fault: 1 })
  const metrics = await board.get('/metrics')
  t.match(metrics.body, /plantroom_ledger_open\{severity="fault"\} 1/)
  const seen = await board.post('/api/ledger/acknowledge', { id: String(entry?.id) })
  t.match(seen, { status: 200, body: { acknowledgedBy: /./ } })
  t.match((await board.get('/api/journal?what=acknowledged')).body, [{ target: 'line_absent' }])
  device.replug()
  await until('it is back', async () => (await list('open=true')).length === 0)
  t.match(await list(), [{ ended: 'cleared', acknowledgedAt: Number }])
  await until('the log has the end', () => /condition ended what=line_absent .*count=1/.test(board.output()))
})

t.test('the page shows it at once, and takes an acknowledgement', { skip: noBrowser }, async (t) => {
  const { audit, complaints, page, visit } = await openRig(t, board.url, { pictures: 'board' })
  await page.getByRole('link', { name: 'System' }).first().waitFor()
  await visit('today')
  await page.locator('.ledger tr', { hasText: 'port 1' }).getByRole('img', { name: 'Fault, over' }).waitFor()
  await device.unplug()
  await page.getByRole('button', { name: /^Acknowledge: / }).click()
  await page.locator('.ledger tr', { hasText: 'anyone, ' }).first().waitFor()
  await audit(t, 'today')
  device.replug()
  await page
    .locator('.ledger tbody tr', { hasText: 'so far' })
    .filter({ hasText: 'port 1' })
    .waitFor({ state: 'detached' })
  t.same(complaints, [])
})
