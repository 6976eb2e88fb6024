/** Tables of user interfaces: what they show, and the zones that make their scope. */
import { flag, integer, json, label, owner, reference, table, text } from './column.ts'

export const uiTables = [
  table('ui_theme', [label(), json('tokens'), flag('dark', false)]),
  table('ui', [label(), text('type'), reference('theme_id', 'ui_theme'), flag('enabled', true)]),
  table('ui_page_ui', [owner('ui_id', 'ui'), label(), text('icon'), integer('position'), json('layout')], {
    key: ['ui_id', 'name'],
  }),
  table('ui_widget', [label(), text('type'), json('schema')]),
  table(
    'ui_page_widget',
    [
      owner('page_id', 'ui_page_ui'),
      owner('widget_id', 'ui_widget'),
      integer('x'),
      integer('y'),
      integer('w'),
      integer('h'),
      reference('zone_id', 'zone'),
      reference('device_id', 'device'),
      reference('macro_id', 'macro'),
      json('options'),
    ],
    { key: ['page_id', 'widget_id', 'x', 'y'] },
  ),
  table('ui_control', [owner('ui_id', 'ui'), text('zone_type'), text('control'), json('options')], {
    key: ['ui_id', 'zone_type'],
  }),
  table('ui_macro', [owner('ui_id', 'ui'), owner('macro_id', 'macro'), integer('position')], {
    key: ['ui_id', 'macro_id'],
    uniqueTogether: ['ui_id', 'macro_id'],
  }),
  table('ui_zone', [owner('ui_id', 'ui'), owner('zone_id', 'zone'), integer('position')], {
    key: ['ui_id', 'zone_id'],
    uniqueTogether: ['ui_id', 'zone_id'],
  }),
  table('ui_zone_group_ui', [owner('ui_id', 'ui'), owner('zone_group_id', 'zone_group'), integer('position')], {
    key: ['ui_id', 'zone_group_id'],
    uniqueTogether: ['ui_id', 'zone_group_id'],
  }),
]
