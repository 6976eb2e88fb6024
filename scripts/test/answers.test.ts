/** Tests of answers.ts, and that no operation is without a description of its answers. */
import { join } from 'node:path'
import t from 'tap'
import type { DescribedAnswers } from '#kit/http/kit-routes.ts'
import { answersOf } from '../answers.ts'

const root = join(import.meta.dirname, '../..')

/** What is told of an operation that went well; of one that only refuses nothing. */
function undescribed({ responses }: DescribedAnswers): boolean {
  return Object.entries(responses).some(([status, { content }]) => {
    const json = content?.['application/json']
    return /^2/.test(status) && json !== undefined && json.schema === undefined
  })
}

for (const [daemon, some] of [
  ['gateway', ['POST /api/login', 'POST /api/ports/{path}/rest/send', 'GET /api/ports/{path}/capture.pcap']],
  ['board', ['GET /api/status', 'POST /api/usbip', 'GET /stream.sdp']],
  ['controller', ['POST /api/token', 'GET /api/data/{entity}', 'GET /api/health', 'GET /ui/zones', 'PUT /ui/rest']],
] as const)
  t.test(`every operation of the ${daemon} describes its answers`, async (t) => {
    const { operations, shared } = await answersOf(root, daemon)
    const names = operations.map(({ method, path }) => `${method} ${path}`)
    for (const name of some) t.ok(names.includes(name), name)
    t.same(
      operations.filter(undescribed).map(({ method, path }) => `${method} ${path}`),
      [],
    )
    for (const { method, path, responses } of operations)
      t.ok(responses['4XX'] && responses['5XX'], `${method} ${path} tells of refusals`)
    t.ok(shared.Error)
  })
