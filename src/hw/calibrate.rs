//! What a device and its driver do that documents leave open, measured: the numbers of a profile.
//!
//! Each figure is read off in a pool of its own; each cost is the median of many batches, so that what else the machine does
//! meanwhile counts for little.

use super::driver::{self, Answer, Pool, Stream};
use super::host::Host;
use super::kernels::Launches;
use super::memory::Memory;
use super::readings::{figures, of_device};
use super::session::{Gpu, Machine};
use super::structures::{Location, PoolProperties};
use super::{Unavailable, devices};
use crate::base::{Bytes, HostId, Nanos, StmtId, StreamId};
use crate::trace::{Cut, DeviceFigure, Ticket, Use};

/// What was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measured {
    /// The device, as its driver calls it.
    pub name: String,
    /// All its memory.
    pub memory: Bytes,
    /// The version of the driver as CUDA counts it: 12040 is 12.4.
    pub driver: u32,
    /// Whether it has memory pools; if not, what follows about them is 0.
    pub memory_pools: bool,
    /// The distance of small allocations.
    pub alignment: Bytes,
    /// What a new pool reserves for a small allocation.
    pub growth: Bytes,
    /// The same of a pool whose maximum size is that allocation.
    pub granule: Bytes,
    /// Whether an allocation of 0 bytes succeeds.
    pub zero_size_succeeds: bool,
    /// How long the host takes to submit an operation.
    pub submit: Nanos,
    /// How long it takes for a call that submits none.
    pub call: Nanos,
    /// From the launch of a kernel that does nothing until the host sees it complete.
    pub round_trip: Nanos,
}

/// So many batches of so many calls.
const BATCHES: usize = 25;
const BATCH: u64 = 40;

/// Measures the first device of this machine.
///
/// # Errors
/// There is no driver or no device, or it refuses what every driver with pools should do.
pub fn calibrate(host: &dyn Host) -> Result<Measured, Unavailable> {
    let device = devices()?.swap_remove(0);
    let machine = Machine::open(1)?;
    let gpu = machine.first();
    driver::set_current(gpu.context)?;
    let mut measured = Measured {
        name: device.name,
        memory: Bytes(of_device(gpu, DeviceFigure::Memory)?),
        driver: device.driver,
        memory_pools: of_device(gpu, DeviceFigure::MemoryPools)? != 0,
        alignment: Bytes::ZERO,
        growth: Bytes::ZERO,
        granule: Bytes::ZERO,
        zero_size_succeeds: false,
        submit: Nanos::ZERO,
        call: Nanos::ZERO,
        round_trip: Nanos::ZERO,
    };
    let stream = driver::create_stream(true, 0)?;
    let costs = costs(host, gpu, stream);
    let pools = if measured.memory_pools { pools(gpu, stream).map(Some) } else { Ok(None) };
    driver::destroy_stream(stream).ok();
    (measured.submit, measured.call, measured.round_trip) = costs?;
    if let Some(sizes) = pools? {
        (measured.alignment, measured.growth, measured.granule) =
            (sizes.alignment, sizes.growth, sizes.granule);
        measured.zero_size_succeeds = sizes.zero_size_succeeds;
    }
    Ok(measured)
}

struct Sizes {
    alignment: Bytes,
    growth: Bytes,
    granule: Bytes,
    zero_size_succeeds: bool,
}

fn pools(gpu: Gpu, stream: Stream) -> Answer<Sizes> {
    let location = Location::device(gpu.ordinal);
    let (growth, alignment, zero_size_succeeds) = in_pool(PoolProperties::new(location, 0, 0), |pool| {
        let mut addresses =
            (0..32).map(|_| driver::alloc(1, Some(pool), stream)).collect::<Answer<Vec<_>>>()?;
        let reserved = figures(pool)?.reserved;
        addresses.sort_unstable();
        let distances = addresses.windows(2).map(|pair| pair[1] - pair[0]);
        let alignment = Bytes(distances.min().unwrap_or_default());
        let zero = driver::alloc(0, Some(pool), stream);
        if let Ok(address @ 1..) = zero {
            driver::free(address, stream)?;
        }
        addresses.iter().try_for_each(|address| driver::free(*address, stream))?;
        Ok((reserved, alignment, zero.is_ok()))
    })?;
    // Drivers before 12.2 know no maximum size.
    let granule = in_pool(PoolProperties::new(location, 0, 1), |pool| {
        let address = driver::alloc(1, Some(pool), stream)?;
        let reserved = figures(pool)?.reserved;
        driver::free(address, stream)?;
        Ok(reserved)
    })
    .unwrap_or(Bytes::ZERO);
    driver::synchronise_stream(stream)?;
    Ok(Sizes { alignment, growth, granule, zero_size_succeeds })
}

fn in_pool<T>(properties: PoolProperties, look: impl FnOnce(Pool) -> Answer<T>) -> Answer<T> {
    let pool = driver::create_pool(&properties)?;
    let seen = look(pool);
    driver::destroy_pool(pool)?;
    seen
}

/// Of a call that submits an operation, of one that does not, and of a round trip.
fn costs(host: &dyn Host, gpu: Gpu, stream: Stream) -> Answer<(Nanos, Nanos, Nanos)> {
    let mut launches = Launches::new(BATCHES * (BATCH as usize + 2))?;
    launches.warm_up(gpu.kernel)?;
    driver::synchronise_context()?;
    let costs = costs_of(host, &mut launches, gpu, stream);
    launches.end();
    costs
}

fn costs_of(
    host: &dyn Host,
    launches: &mut Launches,
    gpu: Gpu,
    stream: Stream,
) -> Answer<(Nanos, Nanos, Nanos)> {
    let mut memory = Memory::default();
    let nobody = (HostId::from_raw(0), StmtId::new(0));
    let nothing: (Ticket, &[Use], Option<&Cut>) =
        (Ticket { stream: StreamId::from_raw(0), seq: 0 }, &[], None);
    let mut launch = || launches.launch(&mut memory, nobody, (gpu.kernel, stream), Nanos::ZERO, nothing);
    let submit = median(
        host,
        BATCH,
        || {
            launch()?;
            Ok(())
        },
        || driver::synchronise_stream(stream),
    )?;
    let call = median(host, BATCH, || driver::query_stream(stream).map(drop), || Ok(()))?;
    let round_trip = median(
        host,
        1,
        || {
            launch()?;
            driver::synchronise_stream(stream)
        },
        || Ok(()),
    )?;
    Ok((submit, call, round_trip))
}

/// How long one of so many calls takes, the median of the batches; after each batch something is to be done that does not count.
fn median(
    host: &dyn Host,
    calls: u64,
    mut call: impl FnMut() -> Answer<()>,
    mut between: impl FnMut() -> Answer<()>,
) -> Answer<Nanos> {
    let mut batches = Vec::new();
    for _ in 0..BATCHES {
        let began = host.now();
        (0..calls).try_for_each(|_| call())?;
        batches.push((host.now().0 - began.0) / calls);
        between()?;
    }
    batches.sort_unstable();
    Ok(Nanos(batches[BATCHES / 2]))
}
