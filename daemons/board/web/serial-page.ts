/** Serial: who is on each line. The verdict, then a card for each port. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { sentenceOf } from '#kit/web/call.ts'
import { Confirm } from '#kit/web/dialog.ts'
import { type Child, html } from '#kit/web/html.ts'
import { useKeys } from '#kit/web/keys.ts'
import { say, verdict } from '#kit/web/lamp.ts'
import { lazy } from '#kit/web/lazy.ts'
import { useLook } from '#kit/web/look.ts'
import { goTo, linkTo } from '#kit/web/route.ts'
import { toast } from '#kit/web/toast.ts'
import { api, type SerialClient, type SerialPort, type SerialState } from './api.ts'
import { type Traffic, withLook } from './rates.ts'
import { SerialCard } from './serial-card.ts'
import { portName } from './serial-words.ts'
import { status } from './state.ts'
import { litOf } from './words.ts'

const SerialForm = lazy(async () => (await import('./serial-form.ts')).SerialForm)

const LOOK_SERIAL_MS = 1000

/** A client that is asked about before it is dropped. */
interface Dropping {
  port: SerialPort
  client: SerialClient
}

/** The page. `what`: `edit` and the number of the port, or nothing. */
export function SerialPage({ what, which }: { what?: string; which?: string }): VNode {
  const [state, setState] = useState<SerialState | null>(null)
  const traffic = useRef(new Map<number, Traffic>())
  const [dropping, setDropping] = useState<Dropping | null>(null)
  const look = useLook(async () => {
    const told = await api.serial()
    for (const port of told.ports)
      traffic.current.set(port.port, withLook(traffic.current.get(port.port), port.counters, Date.now()))
    setState(told)
  }, LOOK_SERIAL_MS)
  useSerialKeys(state, setDropping)
  const edited = what === 'edit' ? state?.ports.find(({ port }) => String(port) === which) : undefined
  const judged = status.value?.verdict
  return html`<h1 class="sr">Serial server</h1>${judged ? verdict({ lit: litOf(judged.state), sentence: judged.text }) : null}
    <div class=${edited ? 'cols with-form' : ''}>${cards(state, look.refused, { traffic: traffic.current, ask: setDropping })}
    ${edited ? html`<${SerialForm} port=${edited} again=${look.again} key=${edited.port} />` : null}</div>
    ${dropping ? drop(dropping, () => setDropping(null), look.again) : null}`
}

interface CardFacts {
  traffic: ReadonlyMap<number, Traffic>
  ask: (dropping: Dropping) => void
}

function cards(state: SerialState | null, refused: string | null, { traffic, ask }: CardFacts): Child {
  if (state === null) {
    const words =
      refused === null
        ? say('busy', 'Asking the board for its lines', 'This usually takes less than a second.')
        : say('fault', 'The lines could not be read', refused)
    return html`<section class="panel">${words}</section>`
  }
  const { devices, text } = state.adapter
  const { ports } = state
  if (ports.length === 0)
    return html`<section class="panel">${say('off', 'No line to share', text, html`<a class="btn" href=${linkTo('settings')}>Settings</a>`)}</section>`
  return html`<div class="stack"><div class="cards">${ports.map(
    (port) =>
      html`<${SerialCard} port=${port} devices=${devices} traffic=${traffic.get(port.port)} drop=${(client: SerialClient) => ask({ port, client })} key=${port.port} />`,
  )}</div></div>`
}

function drop({ port, client }: Dropping, close: () => void, again: () => Promise<void>): VNode {
  async function run(): Promise<void> {
    try {
      await api.dropClient(port.port, client.id)
      toast(`${client.address} was dropped from ${portName(port)}.`)
    } catch (thrown) {
      toast(sentenceOf(thrown))
    }
    await again()
  }
  return html`<${Confirm} title=${`Drop ${client.address}?`} text=${`Its connection to ${portName(port)} ends at once. It may connect again; the list of allowed addresses keeps it out.`}
    act="Drop client" keep="Keep client" close=${close} run=${() => void run()} />`
}

/** The port whose card has the focus. */
function chosen(state: SerialState | null): SerialPort | undefined {
  const number = document.activeElement?.closest<HTMLElement>('[data-port]')?.dataset.port
  return state?.ports.find(({ port }) => String(port) === number)
}

function useSerialKeys(state: SerialState | null, ask: (dropping: Dropping) => void): void {
  const focus = (number: number): boolean => {
    const card = document.querySelector<HTMLElement>(`[data-port="${number}"]`)
    card?.focus()
    return card !== null
  }
  useKeys('Serial', [
    ...[1, 2, 3, 4].map((number) => ({ key: String(number), what: `line ${number}`, run: () => focus(number) })),
    {
      key: 'e',
      what: 'edits the line with the focus',
      run: () => {
        const port = chosen(state) ?? state?.ports[0]
        if (!port) return false
        goTo('live', 'edit', String(port.port))
        return undefined
      },
    },
    {
      key: 'x',
      what: 'drops a client of the line with the focus, asks first',
      run: () => {
        const port = chosen(state)
        const id = document.activeElement?.closest<HTMLElement>('[data-client]')?.dataset.client
        const client = port?.clients.find((each) => String(each.id) === id) ?? port?.clients[0]
        if (!port || !client) return false
        ask({ port, client })
        return undefined
      },
    },
  ])
}
