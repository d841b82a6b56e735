/* The page of `convshim report`, in page.html. */
const TITLE = 'convshim report';

function view() {
  const figure = name => data.figures.find(row => row.name === name)?.text;
  const cards = data.conclusion.map(row =>
    card(row.title, `${size(row.saved)} saved (${row.percent} %)`, `${size(row.without)} → ${size(row.with)}`));
  const workspaces = data.sites.slice(0, 25).map(site =>
    ({name: site.problem, detail: site.direction, without: site.required, with: site.reported}));
  return [
    source([figure('program') ?? ''], [figure('device'), figure('vendor')]),
    html`<dl class="cards">${cards}</dl>`,
    sentence(data.conclusion_text),
    bars('Largest workspaces', workspaces),
    table('sites', 'Convolutions', [['problem', 'convolution'], ['direction', 'direction'], ['calls', 'calls', count],
      ['launches', 'tile launches', count], ['required', 'required', size], ['reported', 'reported', size],
      ['state_text', 'state']], data.sites),
    table('figures', 'Figures', [['title', 'figure'], ['text', 'value']], data.figures),
    table('processes', 'Processes', [['rank', 'rank', count], ['pid', 'pid', count], ['program', 'program'],
      ['calls', 'calls', count], ['tiled', 'tiled', count], ['required_max', 'required', size],
      ['reported_max', 'reported', size]], data.processes)];
}
