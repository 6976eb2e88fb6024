/** Tests of api/plan-routes.ts. */
import { Readable } from 'node:stream'
import t from 'tap'
import type { Reply } from '#kit/http/route.ts'
import { planRoutes } from '../../api/plan-routes.ts'

type Parts = Parameters<typeof planRoutes>[0]

function stage(parts: Partial<Parts> = {}) {
  const routes = planRoutes({
    callers: { accountOf: () => ({ role: 'administrator', cameras: 'all' }) } as unknown as Parts['callers'],
    cameras: { require: (id: string) => ({ record: { id, name: id } }) } as unknown as Parts['cameras'],
    plans: {} as Parts['plans'],
    aiming: {} as Parts['aiming'],
    pictures: { open: () => undefined },
    recorder: { changed: async () => {} },
    limits: { imageBytes: 1000, uploadMs: 5000 },
    ...parts,
  })
  return (wanted: string, ask: object) => {
    const found = routes.find(({ method, path }) => `${method} ${path}` === wanted)
    return found?.handle({ params: {}, query: {}, headers: {}, ...ask } as never) as Promise<Reply>
  }
}

const upload = (stream: Readable) => ({ body: { lengthBytes: undefined, stream }, query: { name: 'Ground' } })

t.test('one image is taken at a time, so that memory is bounded by one', async (t) => {
  const add = async (name: string, bytes: Uint8Array) => ({ id: 'p', name, width: bytes.length, height: 1 })
  const ask = stage({ plans: { add } as unknown as Parts['plans'] })
  const slow = new Readable({ read() {} })
  const first = ask('POST /api/site-plans', upload(slow))
  await t.rejects(ask('POST /api/site-plans', upload(Readable.from([Buffer.alloc(1)]))), { code: 'plan_upload_busy' })
  slow.push(Buffer.alloc(7))
  slow.push(null)
  t.match(await first, { status: 201, body: { name: 'Ground', width: 7 } })
  const cut = new Readable({ read() {} })
  const broken = ask('POST /api/site-plans', upload(cut))
  cut.destroy(new Error('the client left'))
  await t.rejects(broken)
  t.match(
    await ask('POST /api/site-plans', upload(Readable.from([Buffer.alloc(2)]))),
    { body: { width: 2 } },
    'it is free again',
  )
})

t.test('3A.plans.aim operators turn cameras, viewers do not, and nobody one that they may not see', async (t) => {
  const unknown = Object.assign(new Error('unknown'), { code: 'unknown_camera' })
  const asked: unknown[] = []
  const as = (role: string) =>
    stage({
      callers: { accountOf: () => ({ role, username: 'ada' }) } as unknown as Parts['callers'],
      cameras: {
        require(id: string) {
          if (id !== 'dome') throw unknown
          return { record: { id } }
        },
      } as unknown as Parts['cameras'],
      aiming: {
        look: async () => 'looked',
        aim: async (...all: unknown[]) => void asked.push(all),
      } as unknown as Parts['aiming'],
    })
  const aim = { params: { id: 'dome' }, body: { x: 1, y: 2 }, caller: { name: 'ada by token wall' } }
  for (const [route, ask] of [
    ['POST /api/cameras/:id/plan/aim', aim],
    ['GET /api/cameras/:id/plan/looking', aim],
  ] as const) {
    t.throws(() => as('viewer')(route, ask), {
      code: 'forbidden',
      message: /operators and administrators, and ada is none/,
    })
    t.throws(() => as('viewer')(route, { ...ask, params: { id: 'vault' } }), { code: 'unknown_camera' })
    await as('operator')(route, ask)
  }
  t.same(asked, [[{ id: 'dome' }, { point: [1, 2], zoom: null }, { kind: 'person', name: 'ada by token wall' }]])
})

t.test('an image that is gone from the disk is said to be', async (t) => {
  const ask = stage({ plans: { require: () => ({ picture: 'a.png' }) } as unknown as Parts['plans'] })
  t.throws(() => ask('GET /api/site-plans/:id/image', { params: { id: 'p' } }), { code: 'no_plan_image' })
  t.match(ask('GET /api/site-plans/:id/image', { params: { id: 'p' }, headers: { 'if-none-match': '"a.png"' } }), {
    status: 304,
  })
})
