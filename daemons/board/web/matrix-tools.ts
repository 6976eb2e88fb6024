/** What stands over the matrix: the filter, which boards are shown and how, and what the lamps mean. */
import type { VNode } from 'preact'
import { html } from '#kit/web/html.ts'
import { type Lit, lamp } from '#kit/web/lamp.ts'
import { segments } from '#kit/web/segments.ts'
import { Tools } from '#kit/web/tools.ts'

interface Choice {
  filter: string
  isNeedyOnly: boolean
  needyCount: number
  isGrid: boolean
  hasSound: boolean
}

interface ToolsFacts {
  choice: Choice
  set: { filter(text: string): void; needyOnly(is: boolean): void; grid(is: boolean): void }
}

/** The tools. */
export function MatrixTools({ choice, set }: ToolsFacts): VNode {
  const { filter, isGrid, hasSound } = choice
  return html`<${Tools} filter=${filter} setFilter=${set.filter} label="Find a board" placeholder="Find a board"
    more=${[choose(choice, set.needyOnly), hasSound ? listOrGrid(isGrid, set.grid) : null]}>${hasSound ? legend() : null}</${Tools}>`
}

function choose({ isNeedyOnly, needyCount, hasSound }: Choice, set: (is: boolean) => void): VNode {
  return segments({
    label: 'Boards shown',
    name: 'shown',
    value: isNeedyOnly ? 'needy' : 'all',
    options: [
      ['all', 'All'],
      ['needy', `${hasSound ? 'Not playing' : 'Need a look'} ${needyCount}`],
    ],
    choose: (value) => set(value === 'needy'),
  })
}

/** Where it is narrow only. */
function listOrGrid(isGrid: boolean, set: (is: boolean) => void): VNode {
  const choice = segments({
    label: 'As',
    name: 'as',
    value: isGrid ? 'grid' : 'list',
    options: [
      ['list', 'List'],
      ['grid', 'Grid'],
    ],
    choose: (value) => set(value === 'grid'),
  })
  return html`<div class="thumb">${choice}</div>`
}

function legend(): VNode {
  const words: [Lit, string][] = [
    ['ok', 'playing'],
    ['warn', 'losing'],
    ['fault', 'silent'],
    ['mute', 'muted'],
    ['off', 'source silent'],
    ['gone', 'away'],
  ]
  return html`<div class="legend later">${words.map(([lit, word]) => html`<span key=${lit}>${lamp(lit)}${word}</span>`)}</div>`
}
