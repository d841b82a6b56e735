/* The page of `convshim simulate`, in page.html. */
const TITLE = 'convshim simulate';
const SIDES = ['without', 'with'], NAMES = {without: 'without', with: 'with convshim'};

/* --- several values --- */

function vary() {
  const fits = {yes: 'fits', no: 'does not fit'};
  const rows = data.rows.map(row => ({name: row.name, without: row.needed_without ?? 0, with: row.needed_with ?? 0,
    detail: fits[row.answer_with ?? row.answer_without] ?? row.answer_with ?? row.answer_without}));
  return [source(data.command, [data.device]), bars('Memory that the program needs, with the context', rows)];
}

/* --- one pair of runs --- */

/* A figure of both runs, and the change unless it has no meaning: the peaks of runs that were short of memory depend on that memory. */
function figure([member, title, format]) {
  const [without, after] = SIDES.map(side => data[side]?.[member]);
  const isShort = SIDES.some(side => data[side]?.allocation_retries > 0 || data[side]?.failed_allocations > 0);
  const compares = without > 0 && after >= 0 && !data.work && !(isShort && member.endsWith('_peak'));
  const change = (100 * (after / without - 1)).toFixed(1);
  if (without === undefined && after === undefined)
    return '';
  return card(title, SIDES.filter(side => data[side]).map(side => data[side][member] === undefined ? '-' : format(data[side][member])).join(' → '),
    compares ? `${after >= without ? '+' : ''}${change} %` : '');
}

/* Whether a run fits, then its verdict unless that sentence contains it. */
function answer(side) {
  const run = data[side];
  if (!run)
    return '';
  return sentence(`Does it fit ${NAMES[side]}${side === 'without' ? ' convshim' : ''}? ${run.fits_why} ${run.fits_why.includes(run.verdict) ? '' : run.verdict}`);
}

/* The curves of the bytes held in each column, on an axis that also shows the GPU's memory if they reach half of it. Its ticks are a
 * power of two apart, so that their labels are short. */
function plot(timeline) {
  const WIDTH = 960, HEIGHT = 240, sides = SIDES.filter(side => timeline[side]);
  const columns = timeline[sides[0]].length, wide = WIDTH / columns, most = side => Math.max(...timeline[side]);
  const memory = data.memory - data.context, limit = memory > 0 && memory / 2 <= Math.max(...sides.map(most)) ? memory : 0;
  const high = Math.max(1, limit, ...sides.map(most));
  let step = 1;
  while (high / step > 6)
    step *= 2;
  const top = Math.ceil(high / step) * step, y = bytes => (HEIGHT * (1 - bytes / top)).toFixed(1);
  const ticks = Array.from({length: top / step + 1}, (_, i) => i * step);
  const outline = side => timeline[side].map((bytes, i) => `${i ? 'V' : 'M0,'}${y(bytes)}H${wide * (i + 1)}`).join('');
  const area = (side, color) => timeline[side] ? html`<path class="${color}" d="${outline(side)}V${HEIGHT}H0Z"/>` : '';
  const curve = (side, color) => timeline[side] ? html`<path class="${color}" d="${outline(side)}"/>` : '';
  const across = (color, bytes) => html`<line class="${color}" x2="${WIDTH}" y1="${y(bytes)}" y2="${y(bytes)}"/>`;
  const peak = side => wide * (timeline[side].indexOf(most(side)) + 0.5);
  const hit = i => html`<rect class="hit" x="${wide * i}" width="${wide}" height="${HEIGHT}"><title>${
    timeline.calls ? `call ${Math.floor(i * (timeline.calls + 1) / columns)}: ` : ''}${
    sides.map(side => `${size(timeline[side][i])} ${side}`).join(' ')}</title></rect>`;
  const kind = timeline.of_framework ? 'requested peak' : 'device peak';
  return html`<h2>Memory over the run</h2><p>${timeline.of_framework
    ? 'Memory that the framework requested for tensors and workspaces. Its allocator rounds sizes up, so the allocated peak is a little higher.'
    : 'Memory that the program holds from the driver.'}${timeline.calls ? ' The horizontal axis counts calls of convolutions.' : ''
    } Dashed lines mark the peaks.</p>
    <ul class="legend">${sides.map(side => key(side === 'with' ? 'after' : 'before', `${NAMES[side]}, ${kind} ${size(most(side))}`))}${
    limit ? key('limit', `memory of the GPU, less the context ${size(limit)}`) : ''}</ul>
    <div class="plot"><svg aria-hidden="true">${ticks.map(bytes =>
    html`<text x="100%" y="${(100 * y(bytes) / HEIGHT).toFixed(2)}%" dy=".32em">${bytes ? size(bytes) : '0'}</text>`)}</svg>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="Memory over the run">
    ${area('without', 'saved')}${area('with', 'held')}${ticks.map(bytes => across('grid', bytes))}${limit ? across('limit', limit) : ''}${
    sides.map(side => html`<line class="peak${side === 'with' ? ' after' : ''}" x1="${peak(side)}" x2="${peak(side)}" y2="${HEIGHT}"/>`)}${
    curve('without', 'curve')}${curve('with', 'curve after')}${timeline[sides[0]].map((_, i) => hit(i))}</svg>
    <div class="ticks"><span>begin</span>${timeline.calls
    ? html`<span>call ${Math.floor((timeline.calls + 1) / 2)}</span><span>call ${timeline.calls}</span>` : html`<span>end</span>`}</div></div>`;
}

/* The memory held at the peak of a side. */
function held(side) {
  if (!data.timeline[side])
    return '';
  return table(`peak-${side}`, `Held at the peak ${NAMES[side]}: ${size(Math.max(...data.timeline[side]))}`,
    [['what', 'what'], ['of', 'of'], ['bytes', 'size', size], ['blocks', 'blocks', count]], data[side].peak);
}

function simulation() {
  const run = data.with ?? data.without;
  return [
    source(data.command, [data.device, 'simulated', run.planning.replace('cudnn', 'cuDNN'), run.framework]),
    html`<dl class="cards">${[['allocated_peak', 'allocated peak', size], ['device_peak', 'device peak', size],
      ['largest_workspace', 'largest workspace', size], ['predicted_ns', 'predicted time, least', time],
      ['predicted_most_ns', 'predicted time, most', time]].map(figure)}</dl>`,
    answer('without'), answer('with'),
    data.no_gain ? sentence(`No gain: ${data.no_gain}`) : '', data.advice ? sentence(`Advice: ${data.advice}`) : '',
    SIDES.some(side => data.timeline[side]) ? plot(data.timeline) : '', held('without'), held('with'),
    html`<p>Simulated: kernels were counted, not computed. The curves exclude the context of ${size(data.context)}.</p>`];
}

function view() {
  return data.rows_of ? vary() : simulation();
}
